"""The exercise `count_pairs`: how often each pair of neighbours stands in a text."""

from itertools import combinations

from autograder.authoring import Exercise, inputs

from ._shared import WORDS, pairs_of, random_words

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
    return inputs(
        {("n", "a", "n", "a", "s"): int(rng.integers(2, 6)), ("a", "n"): int(rng.integers(6, 9))}
    )


@count_pairs.case("the same letter four times in a row")
def in_a_row(rng):
    return inputs(
        {("a", "a", "a", "a"): int(rng.integers(2, 6)), ("b", "a", "a"): int(rng.integers(6, 9))}
    )


@count_pairs.case("words of one symbol only")
def single_symbols(rng):
    return inputs({("a",): int(rng.integers(1, 9)), ("b",): int(rng.integers(1, 9))})


@count_pairs.case("symbols of several letters")
def longer_symbols(rng):
    return inputs(
        {
            ("th", "e", "n"): int(rng.integers(2, 6)),
            ("t", "hen"): 4,
            ("th", "e"): 3,
            ("the", "n"): 2,
        }
    )


@count_pairs.case("both orders of a pair")
def both_orders(rng):
    return inputs(
        {
            ("o", "n"): int(rng.integers(2, 6)),
            ("n", "o", "n"): int(rng.integers(6, 9)),
            ("s", "o"): 1,
        }
    )


@count_pairs.case("many words")
def many(rng):
    return inputs(random_words(rng, 30, "abcde", 8))


@count_pairs.slips("""
    word_counts_ignored: Your code counts each word once. A word that occurs 5 times in the text
        counts 5 times.
        Hint: What are the values of the mapping `words`? Where does your code use them?
    once_for_each_word: Your code counts a pair only once in each word. If it occurs twice in a
        word, it counts twice.
        Hint: How often does (n, a) stand in n, a, n, a, s?
    count_replaced: Your code keeps only the count of the last word that holds the pair. Add the
        counts of all words that hold it.
        Hint: What happens to the entry of a pair when a second word holds it too: is it replaced, or
        added to?
    first_count_kept: Your code keeps only the count of the first word that holds the pair. The
        counts of later words are not added.
        Hint: What happens when a pair is already in the dict?
    begins_at_one: Every count is too large by 1: a new pair begins at 1, not at 0.
        Hint: Which default does your `get` have? What should a pair count before it was seen?
    last_pair_missing: The last pair of each word is missing.
        Hint: A word of 4 symbols has 3 pairs. At which index does the last one begin?
    first_pair_missing: The first pair of each word is missing.
        Hint: At which index does the first pair begin?
    every_second_pair: Your pairs do not overlap: the first two symbols, then the next two. An inner
        symbol belongs to two pairs.
        Hint: Which pairs does t, h, e, n have? Is (h, e) one of them?
    pairs_at_any_distance: Your code counts all pairs of symbols of a word, not only neighbours.
        Hint: In t, h, e: can t and e be joined, with h between them?
    order_lost: Your code counts (a, b) and (b, a) as the same pair. They are two different pairs.
        Hint: Are `no` and `on` the same pair of letters?
    pairs_turned_round: The pairs are turned round: (b, a) where a stands before b.
        Hint: Which of the two neighbours comes first in the tuple?
    joined_keys: The keys are joined texts such as `th`, not tuples of two. Joined, (t, hen) and (the, n)
        look alike.
        Hint: What should the keys of the result be, by the docstring?
    letters_instead_of_symbols: The symbols were joined to a text first, so pairs of letters are counted;
        a symbol may have several letters.
        Hint: Which pairs does (th, e, n) have? Loop over the tuple itself.
    across_words: The end of each word is paired with the beginning of the next; pairs never cross from
        word to word.
        Hint: May a symbol of one word be joined with a symbol of another?
    single_symbols_counted: Single symbols are counted, not pairs.
        Hint: What should the keys of the result be, by the docstring?
    wraps_round: The word wraps round: its last symbol is paired with its first.
        Hint: Does an index of −1 occur in your loop? How many pairs does a word of 3 symbols have?
    all_ones: Every count is 1: the pairs are listed, and not counted.
        Hint: How many times does a pair stand in the whole text? Which two things decide it?
    number_of_words: The result is the number of words that hold the pair, with no regard to how often
        they stand in the text.
        Hint: What are the values of the mapping `words`?
    times_the_length: Counts are multiplied by the length of the word.
        Hint: A pair that stands once in a word that stands five times: how often is that?
    overlaps_skipped: A pair of equal letters in a row is counted without overlap; a, a, a holds (a, a) twice.
        Hint: Which pairs begin at the first, and which at the second symbol of a, a, a?
    occurrences_squared: A pair that stands twice in a word is counted twice for each of its two places:
        four times in all.
        Hint: Your loop visits every place of the word. Why count the occurrences at each of them once more?
    triples: Three neighbours are counted together; a pair has two.
        Hint: How many symbols does each key of your result hold?
    rare_pairs_left_out: Pairs that stand once only are left out; all pairs that occur are asked for.
        Hint: Which pairs does your condition drop?
    repeated_word_in_a_row: A word that stands several times is paired with itself: its last symbol with
        its own first one.
        Hint: Did you write each word out as often as it stands? Pairs never cross from word to word.
    first_time_twice: The first time that a pair is seen it is counted twice: the default is the word's
        count, and it is added again.
        Hint: Which default does your `get` have? What should a pair count before it was seen?
    only_the_best: Only the most frequent pair comes back; all pairs with their counts are asked for.
        Hint: The loop that learns merges picks the best pair itself. What does it need from you?
    multiplied: The count of the word is used as an exponent or a factor of what was there: counts grow
        too fast.
        Hint: With which operation is the word's count brought into the sum?
    shares: Shares of all pairs come back; counts are asked for.
        Hint: By what did you divide, and is that in the docstring?
    made_anew_for_each_word: Only the pairs of the last word are there: the dict is made anew for each word.
        Hint: In which line does the dict begin: before the loop over the words, or inside it?
    first_word_only: Only the first word is counted: `return` stands inside the loop.
        Hint: At which indentation does your `return` stand?
    returns_nothing
""")
def count_pairs_with_slips(slip, words):
    if slip.repeated_word_in_a_row:
        words = {tuple(symbol for word, n in words.items() for symbol in word * n): 1}
    found, end_of_last = {}, ()
    for word, n in words.items():
        if slip.made_anew_for_each_word:
            found = {}
        symbols = slip.choose(word, letters_instead_of_symbols="".join(word))
        if slip.across_words:
            symbols = end_of_last + symbols
            end_of_last = word[-1:]
        pairs = pairs_of(symbols)
        pairs = slip.choose(
            pairs,
            once_for_each_word=dict.fromkeys(pairs),
            number_of_words=dict.fromkeys(pairs),
            last_pair_missing=pairs[:-1],
            first_pair_missing=pairs[1:],
            every_second_pair=pairs[::2],
            pairs_at_any_distance=combinations(symbols, 2),
            order_lost=[tuple(sorted(pair)) for pair in pairs],
            pairs_turned_round=[pair[::-1] for pair in pairs],
            joined_keys=["".join(pair) for pair in pairs],
            single_symbols_counted=symbols,
            wraps_round=[(symbols[i - 1], symbols[i]) for i in range(len(symbols))],
            triples=zip(symbols, symbols[1:], symbols[2:]),
        )
        n = slip.choose(
            n, word_counts_ignored=1, number_of_words=1, times_the_length=n * len(symbols)
        )
        last = None
        for pair in pairs:
            if slip.overlaps_skipped and pair == last:
                last = None
                continue
            last = pair
            times = n
            if slip.occurrences_squared:
                times = n * pairs.count(pair)
            before = found.get(
                pair, slip.choose(0, begins_at_one=1, first_time_twice=n, multiplied=1)
            )
            found[pair] = slip.choose(
                before + times,
                count_replaced=n,
                first_count_kept=found.get(pair, n),
                all_ones=1,
                multiplied=before * n,
            )
        if slip.first_word_only:
            return found
    if slip.rare_pairs_left_out:
        return {pair: n for pair, n in found.items() if n > 1}
    if slip.only_the_best and found:
        best = max(found, key=found.get)
        return {best: found[best]}
    if slip.shares:
        return {pair: n / sum(found.values()) for pair, n in found.items()}
    return slip.choose(found, returns_nothing=None)


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
    return {
        pair: sum(n * pairs_of(symbols).count(pair) for symbols, n in words.items())
        for pair in every
    }
