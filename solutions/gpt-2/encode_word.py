"""The exercise `encode_word`: join the pair of lowest rank, again and again."""

from attention_labs.comparers import same_symbols
from autograder.authoring import Exercise, inputs

from ._shared import RANKS, encoded, learned_ranks, merged, pairs_of, random_word, shuffled
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
    return inputs(("a", "b", "c", "d"), {("b", "c"): 0, ("a", "b"): 1, ("bc", "d"): 2, ("a", "bcd"): 3})


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
    return inputs(random_word(rng, "abcdefgh", 20), shuffled(rng, learned_ranks(rng, 60, "abcdefgh")))


# Mistakes.


def known_pairs(symbols, ranks):
    return [pair for pair in pairs_of(symbols) if pair in ranks]


def repeated(symbols, ranks, choose, join=merged):
    """Join again and again the pair that `choose` takes of those that are known."""
    symbols = tuple(symbols)
    while True:
        known = known_pairs(symbols, ranks)
        if not known:
            return symbols
        shorter = join(symbols, choose(known))
        if shorter == symbols:
            return symbols
        symbols = shorter


def first_occurrence(symbols, pair):
    place = pairs_of(symbols).index(pair)
    return (*symbols[:place], "".join(pair), *symbols[place + 2 :])


def once(symbols, ranks, choose):
    known = known_pairs(symbols, ranks)
    return merged(symbols, choose(known)) if known else tuple(symbols)


@encode_word.misconception(
    means="Only one merge is made; after it, other pairs may stand side by side that are in `ranks`.",
    nudge="What does the docstring say of the pairs of the result? Which loop is missing?",
)
def one_merge_only(symbols, ranks):
    return once(symbols, ranks, lambda known: min(known, key=ranks.get))


@encode_word.misconception(
    means="The first pair in the alphabet is joined first: `min` compares the pairs themselves, not their ranks.",
    nudge="What does `min` compare when it gets tuples of texts? Which argument lets it compare something else?",
)
def first_in_the_alphabet(symbols, ranks):
    return repeated(symbols, ranks, min)


@encode_word.misconception(
    means="The pair of the highest rank is joined first; the lowest was learned first and comes first.",
    nudge="Which rank has the pair that was learned first?",
)
def highest_rank_first(symbols, ranks):
    return repeated(symbols, ranks, lambda known: max(known, key=ranks.get))


@encode_word.misconception(
    means="The leftmost known pair is joined first, whatever its rank.",
    nudge="Where does your code compare ranks?",
)
def leftmost_first(symbols, ranks):
    return repeated(symbols, ranks, lambda known: known[0])


@encode_word.misconception(
    means="The rightmost known pair is joined first, whatever its rank.",
    nudge="Where does your code compare ranks?",
)
def rightmost_first(symbols, ranks):
    return repeated(symbols, ranks, lambda known: known[-1])


@encode_word.misconception(
    means="The pair of the lowest rank that stands leftmost is joined in one place only, and then the function ends or "
    "goes on elsewhere.",
    nudge="What happens to a second occurrence of the same pair?",
)
def only_one_place(symbols, ranks):
    known = known_pairs(symbols, ranks)
    return first_occurrence(tuple(symbols), min(known, key=ranks.get)) if known else tuple(symbols)


def longest_match(symbols, vocabulary):
    symbols, found, place = tuple(symbols), [], 0
    while place < len(symbols):
        for end in range(len(symbols), place, -1):
            piece = "".join(symbols[place:end])
            if piece in vocabulary or end == place + 1:
                found.append(piece)
                place = end
                break
    return tuple(found)


@encode_word.misconception(
    means="The longest symbol of the vocabulary is taken from the left. Byte-pair encoding joins by rank, and may not "
    "reach that symbol.",
    nudge="In h, a, t, h: does `hat` come to be, when (t, h) has the lowest rank?",
)
def longest_match_from_the_left(symbols, ranks):
    return longest_match(symbols, {"".join(pair) for pair in ranks})


@encode_word.misconception(
    means="The longest known pair is joined first, not that of the lowest rank.",
    nudge="By what is the next pair chosen?",
)
def longest_pair_first(symbols, ranks):
    return repeated(
        symbols, ranks, lambda known: max(known, key=lambda pair: (len("".join(pair)), -ranks[pair]))
    )


@encode_word.misconception(
    means="The pair that makes the longest symbol is joined first, and of equally long ones the leftmost.",
    nudge="By what is the next pair chosen? Which argument says what was learned first?",
)
def leftmost_longest_pair_first(symbols, ranks):
    return repeated(symbols, ranks, lambda known: max(known, key=lambda pair: len("".join(pair))))


@encode_word.misconception(
    means="The most frequent pair of the word is joined; that rule is for learning merges. Encoding goes by rank.",
    nudge="Which argument says what was learned?",
)
def most_frequent_in_the_word(symbols, ranks):
    return repeated(
        symbols, ranks, lambda known: max(known, key=lambda pair: (known.count(pair), -ranks[pair]))
    )


@encode_word.misconception(
    means="The order of the mapping is used instead of the ranks: the first pair in `ranks` that stands in the word.",
    nudge="Which number belongs to a pair? Is the mapping sorted by it?",
)
def order_of_the_mapping(symbols, ranks):
    return repeated(symbols, ranks, lambda known: next(pair for pair in ranks if pair in known))


@encode_word.misconception(
    means="All pairs of the mapping are applied once, in its own order; a pair of low rank may come too late.",
    nudge="In which order should the pairs be applied?",
)
def mapping_applied_once(symbols, ranks):
    symbols = tuple(symbols)
    for pair in ranks:
        symbols = merged(symbols, pair)
    return symbols


@encode_word.misconception(
    means="The pairs are applied from the highest rank down, each once.",
    nudge="Which rank has the pair that was learned first?",
)
def applied_from_the_highest(symbols, ranks):
    symbols = tuple(symbols)
    for pair in sorted(ranks, key=ranks.get, reverse=True):
        symbols = merged(symbols, pair)
    return symbols


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
    means="The pairs are found once, at the beginning; those that come to be by joining are never looked at.",
    nudge="In which line are the pairs of the word made: before the loop, or inside it?",
)
def pairs_of_the_beginning_only(symbols, ranks):
    symbols = tuple(symbols)
    for pair in sorted(set(known_pairs(symbols, ranks)), key=ranks.get):
        symbols = merged(symbols, pair)
    return symbols


@encode_word.misconception(
    means="The loop ends as soon as any pair of the word is unknown; it should end when none is known.",
    nudge="What does your code do with a pair that has no rank, while others have one? A default of −1 would win over them.",
)
def stops_at_an_unknown_pair(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 1 and all(pair in ranks for pair in pairs_of(symbols)):
        symbols = merged(symbols, min(pairs_of(symbols), key=ranks.get))
    return symbols


@encode_word.misconception(
    means="Unknown pairs count as rank 0 and win over the known ones.",
    nudge="Which default does your `ranks.get(pair, …)` have? It should be larger than every rank.",
)
def unknown_as_rank_zero(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 1:
        best = min(pairs_of(symbols), key=lambda pair: ranks.get(pair, 0))
        if best not in ranks:
            return symbols
        symbols = merged(symbols, best)
    return symbols


@encode_word.misconception(
    means="Pairs are joined until one symbol is left, even those that are not in `ranks`.",
    nudge="What ends the loop, by the docstring?",
)
def joins_unknown_pairs(symbols, ranks):
    symbols = tuple(symbols)
    while len(symbols) > 1:
        symbols = merged(symbols, min(pairs_of(symbols), key=lambda pair: ranks.get(pair, 10**9)))
    return symbols


@encode_word.misconception(
    means="The pair of rank 0 is never joined: 0 counts as false.",
    nudge="What is `bool(0)`? Ask whether a pair is in `ranks`, not whether its rank is true.",
)
def rank_zero_is_false(symbols, ranks):
    rest = {pair: rank for pair, rank in ranks.items() if rank}
    return encoded(symbols, rest)


@encode_word.misconception(
    means="A list comes back; a tuple is asked for.",
    nudge="Which function makes a tuple of a list?",
)
def list_returned(symbols, ranks):
    return list(encoded(symbols, ranks))


@encode_word.misconception(
    means="The word is joined to one text.",
    nudge="Which type does the docstring's Returns part name?",
)
def returns_a_text(symbols, ranks):
    return " ".join(encoded(symbols, ranks))


@encode_word.misconception(
    means="The ranks of the merges come back, not the symbols.",
    nudge="What should the items of the result be?",
)
def ranks_returned(symbols, ranks):
    symbols, found = tuple(symbols), []
    while known_pairs(symbols, ranks):
        best = min(known_pairs(symbols, ranks), key=ranks.get)
        found.append(ranks[best])
        symbols = merged(symbols, best)
    return tuple(found)


@encode_word.misconception(
    means="The word comes back unchanged.",
    nudge="What does `merge_pair` return, and which name does its result get?",
)
def unchanged(symbols, ranks):
    return symbols


@encode_word.misconception(
    means="Pairs of the reversed order are looked up: (b, a) where a stands before b.",
    nudge="Which of the two symbols stands first in the keys of `ranks`?",
)
def reversed_pairs(symbols, ranks):
    turned = {pair: ranks[pair[::-1]] for pair in pairs_of(symbols) if pair[::-1] in ranks}
    return encoded(symbols, turned)


@encode_word.misconception(
    means="The loop runs a fixed number of times, once for each symbol at most half the word, and ends too early.",
    nudge="How many merges can a word of n symbols need?",
)
def too_few_rounds(symbols, ranks):
    symbols = tuple(symbols)
    for _ in range(max(1, len(symbols) // 2 - 1)):
        symbols = once(symbols, ranks, lambda known: min(known, key=ranks.get))
    return symbols


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


@encode_word.common_mistake
def returns_nothing(symbols, ranks):
    return None


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
