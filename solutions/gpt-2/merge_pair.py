"""The exercise `merge_pair`: join every occurrence of a pair, from left to right."""

import re

from attention_labs.comparers import same_symbols
from autograder.authoring import Exercise, inputs

from ._shared import merged, random_word

merge_pair = Exercise("merge_pair", points=2, compare=same_symbols)

KINDS = {
    "two letters": ("ab", ("a", "b")),
    "the same letter twice": ("ab", ("a", "a")),
    "five letters": ("abcde", ("b", "d")),
    "longer symbols": (("a", "b", "ab", "ba", "bab"), ("ba", "b")),
    "a pair that is not there": ("abc", ("x", "a")),
    "a dot and a bracket": ("a.(", (".", "(")),
}


@merge_pair.domain(sizes={"length": (1, 60)}, flags={"kind": tuple(KINDS)})
def anywhere(rng, length, kind):
    alphabet, pair = KINDS[kind]
    return inputs(random_word(rng, alphabet, length), pair)


@merge_pair.case("(t, h) in t, h, e, n")
def example(rng):
    return inputs(("t", "h", "e", "n"), ("t", "h"))


@merge_pair.case("the pair stands twice")
def twice(rng):
    return inputs(("n", "a", "n", "a", "s"), ("n", "a"))


@merge_pair.case("the pair stands at the end")
def at_the_end(rng):
    return inputs(("h", "a", "t"), ("a", "t"))


@merge_pair.case("the same symbol three and four times in a row")
def in_a_row(rng):
    return inputs(("a", "a", "a", "b", "a", "a", "a", "a"), ("a", "a"))


@merge_pair.case("the pair is not there")
def not_there(rng):
    return inputs(("d", "a", "y"), ("y", "d"))


@merge_pair.case("both symbols are there, but not side by side")
def apart(rng):
    return inputs(("t", "e", "h", "t"), ("t", "h"))


@merge_pair.case("the pair the other way round")
def turned(rng):
    return inputs(("h", "t", "h", "a"), ("t", "h"))


@merge_pair.case("a symbol that ends like the first of the pair")
def ends_alike(rng):
    return inputs(("ca", "t", "a", "t", "a", "tt"), ("a", "t"))


@merge_pair.case("a pair of longer symbols")
def longer_symbols(rng):
    return inputs(("th", "e", "th", "en"), ("th", "e"))


@merge_pair.case("a symbol that looks like the joined pair")
def looks_joined(rng):
    return inputs(("th", "t", "h", "e"), ("t", "h"))


@merge_pair.case("two neighbours with the same text as the joined pair")
def same_text(rng):
    return inputs(("t", "he", "th", "e"), ("th", "e"))


@merge_pair.case("dots, which a regular expression reads otherwise")
def dots(rng):
    return inputs(("a", ".", ".", "b", "."), (".", "."))


@merge_pair.case("joining makes the pair once more")
def once_more(rng):
    return inputs(("a", "b", "b", "b"), ("a", "b"))


@merge_pair.case("a single symbol")
def single(rng):
    return inputs(("a",), ("a", "b"))


@merge_pair.case("many symbols")
def many(rng):
    return inputs(random_word(rng, "abc", 40), ("b", "a"))


# Mistakes.


def joined(symbols, pair, once=False, join=lambda a, b: a + b, fits=None, step=2):
    """Join from left to right, with another way to join, to compare or to step on."""
    found, place, done = [], 0, False
    fits = fits or (lambda a, b: (a, b) == pair)
    while place < len(symbols):
        if place + 1 < len(symbols) and fits(*symbols[place : place + 2]) and not (once and done):
            found.append(join(symbols[place], symbols[place + 1]))
            place, done = place + step, True
        else:
            found.append(symbols[place])
            place += 1
    return tuple(found)


@merge_pair.misconception(
    means="A regular expression reads symbols such as `.` and `(` as patterns; here every symbol stands for itself.",
    nudge="What does `re.escape` do? Do you need a regular expression at all?",
)
def pattern_not_escaped(symbols, pair):
    pattern = r"(?<!\S)" + " ".join(pair) + r"(?!\S)"
    return tuple(re.sub(pattern, lambda match: "".join(pair), " ".join(symbols)).split(" "))


@merge_pair.misconception(
    means="Only the first occurrence is joined.",
    nudge="Where does the search go on after a pair was found?",
)
def first_occurrence_only(symbols, pair):
    return joined(symbols, pair, once=True)


@merge_pair.misconception(
    means="After joining, the second symbol of the pair is still there: the step was 1, not 2.",
    nudge="How many symbols does a joined pair take the place of?",
)
def second_symbol_kept(symbols, pair):
    return joined(symbols, pair, step=1)


@merge_pair.misconception(
    means="After a joined pair one symbol too many is left out.",
    nudge="At which index does the search go on after a pair at index i?",
)
def one_symbol_lost(symbols, pair):
    return joined(symbols, pair, step=3)


@merge_pair.misconception(
    means="The pair is joined from right to left; in a, a, a the first two are joined, not the last two.",
    nudge="Which two of a, a, a come first?",
)
def from_right_to_left(symbols, pair):
    turned = joined(symbols[::-1], pair[::-1], join=lambda a, b: b + a)
    return turned[::-1]


@merge_pair.misconception(
    means="The two symbols are joined in the wrong order.",
    nudge="Which of the two stands first in the word?",
)
def joined_the_wrong_way(symbols, pair):
    return joined(symbols, pair, join=lambda a, b: b + a)


@merge_pair.misconception(
    means="The pair is joined in either order; (h, t) is another pair than (t, h).",
    nudge="Does your comparison notice which of the two comes first?",
)
def either_order(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: {a, b} == set(pair))


@merge_pair.misconception(
    means="The reversed pair is joined.",
    nudge="Which of the two symbols of `pair` has to stand on the left?",
)
def reversed_pair(symbols, pair):
    return joined(symbols, pair[::-1])


@merge_pair.misconception(
    means="Any two neighbours that occur in the pair are joined, so (a, a) is joined for the pair (a, b).",
    nudge="Does `in` compare the left symbol with the left of the pair?",
)
def both_in_the_pair(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: a in pair and b in pair)


@merge_pair.misconception(
    means="Only the left symbol is compared: it is joined with whatever follows.",
    nudge="Which two conditions must both hold?",
)
def left_symbol_only(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: a == pair[0])


@merge_pair.misconception(
    means="Only the right symbol is compared: whatever stands before it is joined with it.",
    nudge="Which two conditions must both hold?",
)
def right_symbol_only(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: b == pair[1])


@merge_pair.misconception(
    means="The pair becomes a tuple inside the word; its two symbols should become one longer text.",
    nudge='What is `"t" + "h"`?',
)
def nested_tuple(symbols, pair):
    return joined(symbols, pair, join=lambda a, b: (a, b))


@merge_pair.misconception(
    means="Texts that only look alike are joined too: the search runs over the joined text, where (ca, t) holds a, t.",
    nudge="Where does a symbol begin and end in a text such as `ca t`?",
)
def replaced_in_a_text(symbols, pair):
    return tuple(" ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" "))


@merge_pair.misconception(
    means="The borders of all symbols are lost: everything is joined to a text and cut into letters.",
    nudge="Which symbols have more than one letter already? They should stay as they are.",
)
def cut_into_letters(symbols, pair):
    whole = "".join(pair)
    return (
        tuple("".join(symbols).replace(whole, "\0"))
        if len(whole) < 0
        else tuple(whole if letter == "\0" else letter for letter in "".join(symbols).replace(whole, "\0"))
    )


@merge_pair.misconception(
    means="Only the end of the left symbol is compared, also where this symbol was joined in the same call: (ca, t) or "
    "(aa, a) is taken for the pair.",
    nudge="A symbol is one unit. Compare whole symbols with `==`, and only symbols of the word that was given.",
)
def joined_with_what_follows(symbols, pair):
    found = list(symbols)
    place = 0
    while place < len(found) - 1:
        if found[place].endswith(pair[0]) and found[place + 1] == pair[1]:
            found[place : place + 2] = ["".join(found[place : place + 2])]
        else:
            place += 1
    return tuple(found)


@merge_pair.misconception(
    means="A pair at the end of the word is not joined.",
    nudge="At which index does the last pair begin? Does your loop reach it?",
)
def end_missed(symbols, pair):
    if tuple(symbols[-2:]) == pair and merged(symbols, pair)[-1:] == ("".join(pair),):
        return (*merged(symbols[:-2], pair), *symbols[-2:])
    return merged(symbols, pair)


@merge_pair.misconception(
    means="The last symbol gets lost: the loop over the pairs ends one symbol early.",
    nudge="A word of n symbols has n − 1 pairs. What happens to the last symbol when it belongs to none?",
)
def last_symbol_lost(symbols, pair):
    result = merged(symbols, pair)
    return result if tuple(symbols[-2:]) == pair and result[-1] == "".join(pair) else result[:-1]


@merge_pair.misconception(
    means="Where the pair is not there, an empty tuple comes back instead of the word.",
    nudge="What should a word become that does not hold the pair?",
)
def empty_where_absent(symbols, pair):
    result = merged(symbols, pair)
    return () if result == tuple(symbols) else result


@merge_pair.misconception(
    means="The pair is removed and its joined symbol stands at the end.",
    nudge="At which place of the new word does the joined symbol belong?",
)
def joined_at_the_end(symbols, pair):
    result = merged(symbols, pair)
    whole = "".join(pair)
    times = len(symbols) - len(result)
    rest = list(result)
    for _ in range(times):
        rest.remove(whole)
    return (*rest, *[whole] * times)


@merge_pair.misconception(
    means="The pair is left out altogether; its joined symbol should take its place.",
    nudge="What do you append where the pair was found?",
)
def pair_left_out(symbols, pair):
    marked = joined(symbols, pair, join=lambda a, b: None)
    return tuple(symbol for symbol in marked if symbol is not None)


@merge_pair.misconception(
    means="A text with spaces comes back; a tuple of symbols is asked for.",
    nudge="Which type does the docstring's Returns part name?",
)
def returns_a_text(symbols, pair):
    return " ".join(merged(symbols, pair))


@merge_pair.misconception(
    means="The joined symbol is written with a space or another sign between its two parts.",
    nudge="Which text do `t` and `h` give, put side by side with `+`?",
)
def joined_with_a_space(symbols, pair):
    return joined(symbols, pair, join=lambda a, b: f"{a} {b}")


@merge_pair.misconception(
    means="The joined symbol is put into the list letter by letter: `extend` and `+=` take a text apart.",
    nudge='What does `extend("th")` append to a list, and what does `append("th")`?',
)
def joined_symbol_cut_into_letters(symbols, pair):
    return tuple(
        letter
        for symbol in joined(symbols, pair, join=lambda a, b: (a, b))
        for letter in ("".join(symbol) if isinstance(symbol, tuple) else [symbol])
    )


@merge_pair.misconception(
    means="Only the joined symbols come back; those that belong to no pair are lost.",
    nudge="What does your loop do with a symbol where the pair does not begin?",
)
def only_joined_kept(symbols, pair):
    marked = joined(symbols, pair, join=lambda a, b: (a, b))
    return tuple("".join(symbol) for symbol in marked if isinstance(symbol, tuple))


@merge_pair.misconception(
    means="A list comes back; a tuple is asked for. A list is no key of a dict, and it never equals a tuple.",
    nudge="Which function makes a tuple of a list?",
)
def list_returned(symbols, pair):
    return list(merged(symbols, pair))


@merge_pair.misconception(
    means="The word comes back unchanged.",
    nudge="Compare a slice of a tuple with a tuple: `symbols[i : i + 2] == pair`.",
)
def unchanged(symbols, pair):
    return symbols


@merge_pair.misconception(
    means="The whole word is joined to one symbol.",
    nudge="Which neighbours are to be joined, and which stay apart?",
)
def whole_word_joined(symbols, pair):
    return ("".join(symbols),)


@merge_pair.misconception(
    means="The pair is joined only where it begins at an even index.",
    nudge="Does your loop step by two symbols even where it has found nothing?",
)
def even_places_only(symbols, pair):
    found = []
    for place in range(0, len(symbols), 2):
        two = tuple(symbols[place : place + 2])
        found += ["".join(two)] if two == pair else two
    return tuple(found)


@merge_pair.misconception(
    means="The index runs one too far: the last symbol has no right neighbour to compare with.",
    nudge="Which condition keeps `symbols[i + 1]` inside the word?",
    raises=IndexError,
)
def index_too_far(symbols, pair):
    found, place = [], 0
    while place < len(symbols):
        if symbols[place] + "|" + symbols[place + 1] == "|".join(pair):
            found.append("".join(pair))
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return tuple(found)


@merge_pair.misconception(
    means="Where the last symbol is the left one of the pair, the function looks for a right neighbour.",
    nudge="Which condition keeps `symbols[i + 1]` inside the word? Must it stand before or after the comparison?",
    raises=IndexError,
)
def index_too_far_at_the_end(symbols, pair):
    found, place = [], 0
    while place < len(symbols):
        if symbols[place] == pair[0] and symbols[place + 1] == pair[1]:
            found.append("".join(pair))
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return tuple(found)


@merge_pair.misconception(
    means="A tuple cannot be changed in place: no item of it can be set, and nothing can be taken out.",
    nudge="Collect the new symbols in a list, and make a tuple of it at the end.",
    raises=TypeError,
)
def tuple_changed_in_place(symbols, pair):
    symbols[0] = "".join(pair)
    return symbols


@merge_pair.misconception(
    means="The joined texts are compared: (t, he) and (th, e) both make *the*, but only one of them is the pair.",
    nudge="Compare the two symbols one by one, or as a tuple.",
)
def joined_texts_compared(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: a + b == "".join(pair))


@merge_pair.misconception(
    means="Only the end of the left symbol is compared, so (ca, t) is taken for the pair (a, t).",
    nudge="A symbol is one unit. Compare whole symbols with `==`.",
)
def end_of_the_left_symbol(symbols, pair):
    return joined(symbols, pair, fits=lambda a, b: a.endswith(pair[0]) and b == pair[1])


@merge_pair.misconception(
    means="The last symbol is added at the end, although it may have been joined already.",
    nudge="Where is your index after the last two symbols were joined?",
)
def last_symbol_again(symbols, pair):
    found, place = [], 0
    while place < len(symbols) - 1:
        if (symbols[place], symbols[place + 1]) == pair:
            found.append("".join(pair))
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return (*found, symbols[-1])


@merge_pair.misconception(
    means="The index always moves on by two, so where nothing is joined the next symbol is lost.",
    nudge="By how much must the index grow where nothing was joined?",
)
def always_two_further(symbols, pair):
    found = []
    for place in range(0, len(symbols), 2):
        two = symbols[place : place + 2]
        found.append("".join(two) if two == pair else symbols[place])
    return tuple(found)


@merge_pair.misconception(
    means="Occurrences that overlap are both joined: in a, a, a the middle one is used twice.",
    nudge="A symbol that was joined is used up. Can it be the left one of the next pair?",
)
def overlapping_occurrences(symbols, pair):
    found = []
    for place, symbol in enumerate(symbols):
        if symbols[place : place + 2] == pair:
            found.append("".join(pair))
        elif place == 0 or symbols[place - 1 : place + 1] != pair:
            found.append(symbol)
    return tuple(found)


@merge_pair.common_mistake
def returns_nothing(symbols, pair):
    return None


# Other right answers, which must pass.


@merge_pair.variant
def with_a_list_that_shrinks(symbols, pair):
    rest, found = list(symbols), []
    while rest:
        if tuple(rest[:2]) == pair:
            found.append(rest.pop(0) + rest.pop(0))
        else:
            found.append(rest.pop(0))
    return tuple(found)


@merge_pair.variant
def with_a_for_loop(symbols, pair):
    found, skip = [], False
    for i, symbol in enumerate(symbols):
        if skip:
            skip = False
        elif i + 1 < len(symbols) and symbol == pair[0] and symbols[i + 1] == pair[1]:
            found.append(symbol + symbols[i + 1])
            skip = True
        else:
            found.append(symbol)
    return tuple(found)


@merge_pair.variant
def recursive(symbols, pair):
    if len(symbols) < 2:
        return symbols
    if symbols[:2] == pair:
        return (symbols[0] + symbols[1], *recursive(symbols[2:], pair))
    return (symbols[0], *recursive(symbols[1:], pair))


@merge_pair.variant
def with_a_pattern(symbols, pair):
    import re

    text = " ".join(symbols)
    pattern = r"(?<!\S)" + re.escape(" ".join(pair)) + r"(?!\S)"
    return tuple(re.sub(pattern, "".join(pair), text).split(" "))


@merge_pair.variant
def with_index(symbols, pair):
    # As in the program that OpenAI published.
    first, second = pair
    new_word, i = [], 0
    while i < len(symbols):
        try:
            j = symbols.index(first, i)
        except ValueError:
            new_word.extend(symbols[i:])
            break
        new_word.extend(symbols[i:j])
        i = j
        if i < len(symbols) - 1 and symbols[i + 1] == second:
            new_word.append(first + second)
            i += 2
        else:
            new_word.append(symbols[i])
            i += 1
    return tuple(new_word)
