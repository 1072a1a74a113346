"""The exercise `count_pairs`: how often each pair of neighbours stands in a text."""

from autograder.authoring import Exercise, inputs

from ._shared import WORDS, counts, pairs_of, random_words

count_pairs = Exercise("count_pairs", points=2)

ALPHABETS = {
    "two letters": "ab",
    "nine letters": "abcdefghi",
    "longer symbols": ("a", "b", "ab", "ba", "aba"),
}


@count_pairs.domain(
    sizes={"words": (1, 60), "longest": (1, 60)},
    flags={"alphabet": tuple(ALPHABETS)},
)
def anywhere(rng, words, longest, alphabet):
    return inputs(random_words(rng, words, ALPHABETS[alphabet], longest))


@count_pairs.case("the notebook's four words")
def example(rng):
    return inputs(WORDS)


@count_pairs.case("one word that stands seven times")
def one_word(rng):
    return inputs({("d", "a", "y"): 7})


@count_pairs.case("a pair twice in one word")
def twice_in_a_word(rng):
    return inputs({("n", "a", "n", "a", "s"): int(rng.integers(2, 6)), ("a", "n"): int(rng.integers(6, 9))})


@count_pairs.case("the same letter four times in a row")
def in_a_row(rng):
    return inputs({("a", "a", "a", "a"): int(rng.integers(2, 6)), ("b", "a", "a"): int(rng.integers(6, 9))})


@count_pairs.case("words of one symbol only")
def single_symbols(rng):
    return inputs({("a",): int(rng.integers(1, 9)), ("b",): int(rng.integers(1, 9))})


@count_pairs.case("symbols of several letters")
def longer_symbols(rng):
    return inputs(
        {("th", "e", "n"): int(rng.integers(2, 6)), ("t", "hen"): 4, ("th", "e"): 3, ("the", "n"): 2}
    )


@count_pairs.case("both orders of a pair")
def both_orders(rng):
    return inputs(
        {("o", "n"): int(rng.integers(2, 6)), ("n", "o", "n"): int(rng.integers(6, 9)), ("s", "o"): 1}
    )


@count_pairs.case("many words")
def many(rng):
    return inputs(random_words(rng, 30, "abcde", 8))


# Mistakes.


def counting(words, pairs=pairs_of, times=lambda n: n):
    """Count with other pairs, or with another number for each word."""
    found = {}
    for symbols, n in words.items():
        for pair in pairs(symbols):
            found[pair] = found.get(pair, 0) + times(n)
    return found


@count_pairs.misconception(
    means="Each word counts once, however often it stands in the text.",
    nudge="What are the values of the mapping `words`? Where does your code use them?",
)
def word_counts_ignored(words):
    return counting(words, times=lambda n: 1)


@count_pairs.misconception(
    means="A pair counts once for each word, although it may stand in a word several times.",
    nudge="How often does (n, a) stand in n, a, n, a, s?",
)
def once_for_each_word(words):
    return counting(words, pairs=lambda symbols: list(dict.fromkeys(pairs_of(symbols))))


@count_pairs.misconception(
    means="Each pair has the count of the last word that holds it; the counts should be added.",
    nudge="What happens to the entry of a pair when a second word holds it too: is it replaced, or added to?",
)
def count_replaced(words):
    return {pair: n for symbols, n in words.items() for pair in pairs_of(symbols)}


@count_pairs.misconception(
    means="Each pair has the count of the first word that holds it; the counts of later words are not added.",
    nudge="What happens when a pair is already in the dict?",
)
def first_count_kept(words):
    found = {}
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found.setdefault(pair, n)
    return found


@count_pairs.misconception(
    means="Every count is too large by 1: a new pair begins at 1, not at 0.",
    nudge="Which default does your `get` have? What should a pair count before it was seen?",
)
def begins_at_one(words):
    return {pair: n + 1 for pair, n in counts(words).items()}


@count_pairs.misconception(
    means="The last pair of each word is missing.",
    nudge="A word of 4 symbols has 3 pairs. At which index does the last one begin?",
)
def last_pair_missing(words):
    return counting(words, pairs=lambda symbols: pairs_of(symbols)[:-1])


@count_pairs.misconception(
    means="The first pair of each word is missing.",
    nudge="At which index does the first pair begin?",
)
def first_pair_missing(words):
    return counting(words, pairs=lambda symbols: pairs_of(symbols)[1:])


@count_pairs.misconception(
    means="Your pairs do not overlap: the first two symbols, then the next two. An inner symbol belongs to two pairs.",
    nudge="Which pairs does t, h, e, n have? Is (h, e) one of them?",
)
def every_second_pair(words):
    return counting(words, pairs=lambda symbols: pairs_of(symbols)[::2])


@count_pairs.misconception(
    means="All pairs of symbols of a word are counted, not only neighbours.",
    nudge="In t, h, e: can t and e be joined, with h between them?",
)
def pairs_at_any_distance(words):
    return counting(
        words, pairs=lambda s: [(s[i], s[j]) for i in range(len(s)) for j in range(i + 1, len(s))]
    )


@count_pairs.misconception(
    means="The order of a pair is lost: (a, b) and (b, a) are counted together.",
    nudge="Are `no` and `on` the same pair of letters?",
)
def order_lost(words):
    return counting(words, pairs=lambda symbols: [tuple(sorted(pair)) for pair in pairs_of(symbols)])


@count_pairs.misconception(
    means="The pairs are turned round: (b, a) where a stands before b.",
    nudge="Which of the two neighbours comes first in the tuple?",
)
def pairs_turned_round(words):
    return counting(words, pairs=lambda symbols: [pair[::-1] for pair in pairs_of(symbols)])


@count_pairs.misconception(
    means="The keys are joined texts such as `th`, not tuples of two. Joined, (t, hen) and (the, n) look alike.",
    nudge="What should the keys of the result be, by the docstring?",
)
def joined_keys(words):
    return counting(words, pairs=lambda symbols: [a + b for a, b in pairs_of(symbols)])


@count_pairs.misconception(
    means="The symbols were joined to a text first, so pairs of letters are counted; a symbol may have several letters.",
    nudge="Which pairs does (th, e, n) have? Loop over the tuple itself.",
)
def letters_instead_of_symbols(words):
    return counting(words, pairs=lambda symbols: pairs_of("".join(symbols)))


@count_pairs.misconception(
    means="The end of each word is paired with the beginning of the next; pairs never cross from word to word.",
    nudge="May a symbol of one word be joined with a symbol of another?",
)
def across_words(words):
    found, last = counts(words), None
    for symbols, n in words.items():
        if last is not None:
            found[last, symbols[0]] = found.get((last, symbols[0]), 0) + n
        last = symbols[-1]
    return found


@count_pairs.misconception(
    means="Single symbols are counted, not pairs.",
    nudge="What should the keys of the result be, by the docstring?",
)
def single_symbols_counted(words):
    return counting(words, pairs=list)


@count_pairs.misconception(
    means="The word wraps round: its last symbol is paired with its first.",
    nudge="Does an index of −1 occur in your loop? How many pairs does a word of 3 symbols have?",
)
def wraps_round(words):
    return counting(words, pairs=lambda s: [(s[i - 1], s[i]) for i in range(len(s))])


@count_pairs.misconception(
    means="Every count is 1: the pairs are listed, and not counted.",
    nudge="How many times does a pair stand in the whole text? Which two things decide it?",
)
def all_ones(words):
    return dict.fromkeys(counts(words), 1)


@count_pairs.misconception(
    means="The result is the number of words that hold the pair, with no regard to how often they stand in the text.",
    nudge="What are the values of the mapping `words`?",
)
def number_of_words(words):
    return counting(words, pairs=lambda symbols: list(dict.fromkeys(pairs_of(symbols))), times=lambda n: 1)


@count_pairs.misconception(
    means="Counts are multiplied by the length of the word.",
    nudge="A pair that stands once in a word that stands five times: how often is that?",
)
def times_the_length(words):
    found = {}
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] = found.get(pair, 0) + n * len(symbols)
    return found


@count_pairs.misconception(
    means="A pair of equal letters in a row is counted without overlap; a, a, a holds (a, a) twice.",
    nudge="Which pairs begin at the first, and which at the second symbol of a, a, a?",
)
def overlaps_skipped(words):
    def pairs(symbols):
        found, place = [], 0
        while place < len(symbols) - 1:
            pair = symbols[place], symbols[place + 1]
            found.append(pair)
            alike = symbols[place : place + 3] == (pair[0],) * 3
            place += 2 if alike else 1
        return found

    return counting(words, pairs=pairs)


@count_pairs.misconception(
    means="A pair that stands twice in a word is counted twice for each of its two places: four times in all.",
    nudge="Your loop visits every place of the word. Why count the occurrences at each of them once more?",
)
def occurrences_squared(words):
    found = {}
    for symbols, n in words.items():
        pairs = pairs_of(symbols)
        for pair in pairs:
            found[pair] = found.get(pair, 0) + n * pairs.count(pair)
    return found


@count_pairs.misconception(
    means="Three neighbours are counted together; a pair has two.",
    nudge="How many symbols does each key of your result hold?",
)
def triples(words):
    return counting(words, pairs=lambda symbols: list(zip(symbols, symbols[1:], symbols[2:])))


@count_pairs.misconception(
    means="Pairs that stand once only are left out; all pairs that occur are asked for.",
    nudge="Which pairs does your condition drop?",
)
def rare_pairs_left_out(words):
    return {pair: n for pair, n in counts(words).items() if n > 1}


@count_pairs.misconception(
    means="A word that stands several times is paired with itself: its last symbol with its own first one.",
    nudge="Did you write each word out as often as it stands? Pairs never cross from word to word.",
)
def repeated_word_in_a_row(words):
    return counts_of_a_row([symbol for symbols, n in words.items() for _ in range(n) for symbol in symbols])


def counts_of_a_row(row):
    return counts({tuple(row): 1})


@count_pairs.misconception(
    means="The first time that a pair is seen it is counted twice: the default is the word's count, and it is added again.",
    nudge="Which default does your `get` have? What should a pair count before it was seen?",
)
def first_time_twice(words):
    found = {}
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] = found.get(pair, n) + n
    return found


@count_pairs.misconception(
    means="Only the most frequent pair comes back; all pairs with their counts are asked for.",
    nudge="The loop that learns merges picks the best pair itself. What does it need from you?",
)
def only_the_best(words):
    found = counts(words)
    best = max(found, key=found.get, default=None)
    return {} if best is None else {best: found[best]}


@count_pairs.misconception(
    means="The count of the word is used as an exponent or a factor of what was there: counts grow too fast.",
    nudge="With which operation is the word's count brought into the sum?",
)
def multiplied(words):
    found = {}
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] = found.get(pair, 1) * n
    return found


@count_pairs.misconception(
    means="Shares of all pairs come back; counts are asked for.",
    nudge="By what did you divide, and is that in the docstring?",
)
def shares(words):
    found = counts(words)
    return {pair: n / sum(found.values()) for pair, n in found.items()}


@count_pairs.misconception(
    means="Only the pairs of the last word are there: the dict is made anew for each word.",
    nudge="In which line does the dict begin: before the loop over the words, or inside it?",
)
def made_anew_for_each_word(words):
    found = {}
    for symbols, n in words.items():
        found = counts({symbols: n})
    return found


@count_pairs.misconception(
    means="Only the first word is counted: `return` stands inside the loop.",
    nudge="At which indentation does your `return` stand?",
)
def first_word_only(words):
    return counts(dict([next(iter(words.items()))]))


@count_pairs.misconception(
    means="The index runs one too far: the last symbol has no right neighbour.",
    nudge="For a word of n symbols, at which indices does a pair begin?",
    raises=IndexError,
)
def index_too_far(words):
    found = {}
    for symbols, n in words.items():
        for i in range(len(symbols)):
            pair = symbols[i], symbols[i + 1]
            found[pair] = found.get(pair, 0) + n
    return found


@count_pairs.misconception(
    means="`found[pair] += …` needs an entry that is there already: the first time it raises a KeyError.",
    nudge="What should happen when a pair is seen for the first time? Look up `dict.get`.",
    raises=KeyError,
)
def no_first_entry(words):
    found = {}
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] += n
    return found


@count_pairs.common_mistake
def returns_nothing(words):
    return None


# Other right answers, which must pass.


@count_pairs.variant
def with_a_counter(words):
    from collections import Counter

    found = Counter()
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] += n
    return found


@count_pairs.variant
def with_indices(words):
    from collections import defaultdict

    found = defaultdict(int)
    for word in words:
        for i in range(len(word) - 1):
            found[(word[i], word[i + 1])] += words[word]
    return dict(found)


@count_pairs.variant
def default_dict(words):
    from collections import defaultdict

    found = defaultdict(int)
    for symbols, n in words.items():
        for pair in pairs_of(symbols):
            found[pair] += n
    return found


@count_pairs.variant
def pair_by_pair(words):
    every = {pair for symbols in words for pair in pairs_of(symbols)}
    return {pair: sum(n * pairs_of(symbols).count(pair) for symbols, n in words.items()) for pair in every}
