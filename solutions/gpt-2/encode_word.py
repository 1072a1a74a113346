"""The exercise `encode_word`: join the pair of lowest rank, again and again."""

from attention_labs.comparers import same_symbols
from autograder.authoring import Exercise, inputs

from ._shared import RANKS, learned_ranks, merged, pairs_of, random_word, shuffled
from .merge_pair import merge_pair

encode_word = Exercise("encode_word", points=3, builds_on=[merge_pair], compare=same_symbols)

ALPHABETS = {"three letters": "abc", "eight letters": "abcdefgh"}


@encode_word.domain(
    sizes={"length": (1, 40), "merges": (0, 40)},
    flags={"alphabet": tuple(ALPHABETS)},
)
def anywhere(rng, length, merges, alphabet):
    letters = ALPHABETS[alphabet]
    ranks = shuffled(rng, learned_ranks(rng, merges, letters))
    return inputs(random_word(rng, letters, length), ranks)


@encode_word.case("the notebook's example: h, a, t, h")
def example(rng):
    return inputs(("h", "a", "t", "h"), RANKS)


@encode_word.case("a word that becomes one symbol")
def one_symbol(rng):
    return inputs(("t", "h", "a", "t"), RANKS)


@encode_word.case("a word of letters that no pair holds")
def unknown(rng):
    return inputs(("d", "o", "g"), RANKS)


@encode_word.case("a pair of low rank stands on the right, one of high rank on the left")
def low_on_the_right(rng):
    return inputs(
        ("a", "b", "c", "d"), {("b", "c"): 0, ("a", "b"): 1, ("bc", "d"): 2, ("a", "bcd"): 3}
    )


@encode_word.case("the pair of lowest rank stands twice")
def twice(rng):
    return inputs(("n", "a", "n", "a", "n"), {("n", "a"): 0, ("na", "n"): 1, ("na", "nan"): 2})


@encode_word.case("the same letter five times")
def in_a_row(rng):
    return inputs(("a",) * 5, {("a", "a"): 0, ("aa", "aa"): 1})


@encode_word.case("the longest symbol of the vocabulary is not reached")
def longest_not_reached(rng):
    ranks = {("b", "c"): 0, ("a", "b"): 1, ("ab", "c"): 2, ("bc", "d"): 3}
    return inputs(("a", "b", "c", "a", "b"), ranks)


@encode_word.case("a long pair of high rank beside a short one of low rank")
def long_beside_short(rng):
    return inputs(("a", "b", "c", "a"), {("a", "b"): 0, ("c", "a"): 1, ("ab", "c"): 2})


@encode_word.case("ranks in another order within the mapping, and from 100 on")
def other_order(rng):
    ranks = {pair: 100 + 7 * rank for pair, rank in RANKS.items()}
    return inputs(("t", "h", "a", "t", "h", "e"), dict(reversed(list(ranks.items()))))


@encode_word.case("no ranks at all")
def no_ranks(rng):
    return inputs(("t", "h", "e"), {})


@encode_word.case("a word of thirty letters, forty merges")
def long_word(rng):
    return inputs(random_word(rng, "abc", 30), shuffled(rng, learned_ranks(rng, 40, "abc")))


@encode_word.case("a word of twenty of eight letters, sixty merges")
def more_letters(rng):
    return inputs(
        random_word(rng, "abcdefgh", 20), shuffled(rng, learned_ranks(rng, 60, "abcdefgh"))
    )


# Mistakes.


def known_pairs(symbols, ranks):
    return [pair for pair in pairs_of(symbols) if pair in ranks]


def first_occurrence(symbols, pair):
    place = pairs_of(symbols).index(pair)
    return (*symbols[:place], "".join(pair), *symbols[place + 2 :])


def best_pair(slip, pairs, ranks):
    """The pair that is joined next: that of the lowest rank."""
    key = slip.choose(
        ranks.get,
        first_in_the_alphabet=lambda pair: pair,
        highest_rank_first=lambda pair: -ranks[pair],
        leftmost_first=pairs.index,
        rightmost_first=pairs[::-1].index,
        longest_pair_first=lambda pair: (-len("".join(pair)), ranks[pair]),
        leftmost_longest_pair_first=lambda pair: -len("".join(pair)),
        most_frequent_in_the_word=lambda pair: (-pairs.count(pair), ranks[pair]),
        order_of_the_mapping=list(ranks).index,
        unknown_as_rank_zero=lambda pair: ranks.get(pair, 0),
        joins_unknown_pairs=lambda pair: ranks.get(pair, float("inf")),
    )
    return min(pairs, key=key)


@encode_word.slips("""
    one_merge_only: Only one merge is made; after it, other pairs may stand side by side that are in `ranks`.
        Hint: What does the docstring say of the pairs of the result? Which loop is missing?
    first_in_the_alphabet: The first pair in the alphabet is joined first: `min` compares the pairs
        themselves, not their ranks.
        Hint: What does `min` compare when it gets tuples of texts? Which argument lets it compare
        something else?
    highest_rank_first: The pair of the highest rank is joined first; the lowest was learned first and
        comes first.
        Hint: Which rank has the pair that was learned first?
    leftmost_first: Your code joins the leftmost known pair, whatever its rank. It should be the
        pair with the lowest rank.
        Hint: Where does your code compare ranks?
    rightmost_first: The rightmost known pair is joined first, whatever its rank.
        Hint: Where does your code compare ranks?
    only_one_place: The pair of the lowest rank that stands leftmost is joined in one place only, and
        then the function ends or goes on elsewhere.
        Hint: What happens to a second occurrence of the same pair?
    longest_pair_first: The longest known pair is joined first, not that of the lowest rank.
        Hint: By what is the next pair chosen?
    leftmost_longest_pair_first: Your code first joins the pair that makes the longest symbol. It
        should be the pair with the lowest rank.
        Hint: By what is the next pair chosen? Which argument says what was learned first?
    most_frequent_in_the_word: The most frequent pair of the word is joined; that rule is for learning
        merges. Encoding goes by rank.
        Hint: Which argument says what was learned?
    order_of_the_mapping: The order of the mapping is used instead of the ranks: the first pair in
        `ranks` that stands in the word.
        Hint: Which number belongs to a pair? Is the mapping sorted by it?
    stops_at_an_unknown_pair: The loop ends as soon as any pair of the word is unknown; it should end
        when none is known.
        Hint: What does your code do with a pair that has no rank, while others have one? A default of −1
        would win over them.
    unknown_as_rank_zero: Unknown pairs count as rank 0 and win over the known ones.
        Hint: Which default does your `ranks.get(pair, …)` have? It should be larger than every rank.
    joins_unknown_pairs: Pairs are joined until one symbol is left, even those that are not in `ranks`.
        Hint: What ends the loop, by the docstring?
    rank_zero_is_false: Your code never joins the pair of rank 0, because Python takes 0 for false.
        Hint: What is `bool(0)`? Ask whether a pair is in `ranks`, not whether its rank is true.
    list_returned: A list comes back; a tuple is asked for. Hint: Which function makes a tuple of a list?
    returns_a_text: The word is joined to one text.
        Hint: Which type does the docstring's Returns part name?
    ranks_returned: The ranks of the merges come back, not the symbols.
        Hint: What should the items of the result be?
    unchanged: The word comes back unchanged.
        Hint: What does `merge_pair` return, and which name does its result get?
    reversed_pairs: Pairs of the reversed order are looked up: (b, a) where a stands before b.
        Hint: Which of the two symbols stands first in the keys of `ranks`?
    too_few_rounds: The loop runs a fixed number of times, once for each symbol at most half the word,
        and ends too early.
        Hint: How many merges can a word of n symbols need?
    returns_nothing
""")
def encode_word_with_slips(slip, symbols, ranks):
    if slip.rank_zero_is_false:
        ranks = {pair: rank for pair, rank in ranks.items() if rank}
    if slip.reversed_pairs:
        ranks = {pair: ranks[pair[::-1]] for pair in pairs_of(symbols) if pair[::-1] in ranks}
    word, ranks_of_joined = symbols, []
    rounds = slip.choose(len(word), one_merge_only=1, too_few_rounds=max(1, len(word) // 2 - 1))
    for _ in range(rounds):
        known = known_pairs(symbols, ranks)
        if slip.stops_at_an_unknown_pair and known != pairs_of(symbols):
            break
        if slip.unknown_as_rank_zero or slip.joins_unknown_pairs:
            known = pairs_of(symbols)
        if not known:
            break
        best = best_pair(slip, known, ranks)
        if slip.unknown_as_rank_zero and best not in ranks:
            break
        if slip.only_one_place:
            return first_occurrence(symbols, best)
        symbols = merged(symbols, best)
        ranks_of_joined.append(ranks.get(best))
    if slip.returns_a_text:
        return " ".join(symbols)
    return slip.choose(
        symbols,
        list_returned=list(symbols),
        ranks_returned=tuple(ranks_of_joined),
        unchanged=word,
        returns_nothing=None,
    )


@encode_word.slips("""
    mapping_applied_once: Your code goes through `ranks` once, in the order in which it is stored.
        So a pair of low rank may come too late.
        Hint: In which order should the pairs be applied?
    applied_from_the_highest: The pairs are applied from the highest rank down, each once.
        Hint: Which rank has the pair that was learned first?
    pairs_of_the_beginning_only: Your code looks for pairs only once, before the loop. Joining makes
        new pairs, and it never looks at these.
        Hint: In which line are the pairs of the word made: before the loop, or inside it?
""")
def encode_word_in_order_of_rank(slip, symbols, ranks):
    by_rank = sorted(ranks, key=ranks.get)
    pairs = slip.choose(by_rank, mapping_applied_once=ranks, applied_from_the_highest=by_rank[::-1])
    if slip.pairs_of_the_beginning_only:
        pairs = [pair for pair in by_rank if pair in pairs_of(symbols)]
    for pair in pairs:
        symbols = merged(symbols, pair)
    return symbols


@encode_word.misconception(
    means="The longest symbol of the vocabulary is taken from the left. Byte-pair encoding joins by rank, and may not "
    "reach that symbol.",
    nudge="In h, a, t, h: does `hat` come to be, when (t, h) has the lowest rank?",
)
def longest_match_from_the_left(symbols, ranks):
    vocabulary = {"".join(pair) for pair in ranks}
    found, place = [], 0
    while place < len(symbols):
        for end in range(len(symbols), place, -1):
            piece = "".join(symbols[place:end])
            if piece in vocabulary or end == place + 1:
                found.append(piece)
                place = end
                break
    return tuple(found)


@encode_word.misconception(
    means="All known pairs of the word are joined in one pass, from left to right, before ranks are looked at again.",
    nudge="After the best pair was joined, are the other pairs still there?",
)
def all_known_in_one_pass(symbols, ranks):
    symbols = tuple(symbols)
    while True:
        found, place = [], 0
        while place < len(symbols):
            if symbols[place : place + 2] in ranks:
                found.append("".join(symbols[place : place + 2]))
                place += 2
            else:
                found.append(symbols[place])
                place += 1
        if tuple(found) == symbols:
            return symbols
        symbols = tuple(found)


@encode_word.misconception(
    means="A pair is looked up in `ranks` although it is not there: `ranks[pair]` raises a KeyError.",
    nudge="Which pairs of the word have no rank? What should happen to them?",
    raises=KeyError,
)
def unknown_pair_looked_up(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 1:
        symbols = merged(symbols, min(pairs_of(symbols), key=lambda pair: ranks[pair]))
    return symbols


@encode_word.misconception(
    means="`min` of no pairs raises a ValueError: in a word without known pairs there is nothing to choose from.",
    nudge="What should your function do when no pair of the word is in `ranks`?",
    raises=ValueError,
)
def smallest_of_nothing(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 0:
        symbols = merged(symbols, min(known_pairs(symbols, ranks), key=ranks.get))
    return symbols


# Other right answers, which must pass.


@encode_word.variant
def one_place_at_a_time(symbols, ranks):
    symbols = tuple(symbols)
    while True:
        known = known_pairs(symbols, ranks)
        if not known:
            return symbols
        symbols = first_occurrence(symbols, min(known, key=ranks.get))


@encode_word.variant
def applied_in_order_of_rank(symbols, ranks):
    symbols = tuple(symbols)
    for pair in sorted(ranks, key=ranks.get):
        symbols = merged(symbols, pair)
    return symbols


@encode_word.variant
def with_infinity(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 1:
        best = min(pairs_of(symbols), key=lambda pair: ranks.get(pair, float("inf")))
        if best not in ranks:
            break
        symbols = merged(symbols, best)
    return symbols


@encode_word.variant
def recursive(symbols, ranks):
    known = {pair: ranks[pair] for pair in pairs_of(symbols) if pair in ranks}
    if not known:
        return tuple(symbols)
    return recursive(merged(symbols, min(known, key=known.get)), ranks)
