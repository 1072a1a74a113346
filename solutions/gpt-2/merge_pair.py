"""The exercise `merge_pair`: join every occurrence of a pair, from left to right."""

import re

from attention_labs.comparers import same_symbols
from autograder.authoring import Exercise, inputs

from ._shared import random_word

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


@merge_pair.slips("""
    pattern_not_escaped: A regular expression reads symbols such as `.` and `(` as patterns; here every
        symbol stands for itself.
        Hint: What does `re.escape` do? Do you need a regular expression at all?
    replaced_in_a_text: Your code searches in one long text. There `ca t` contains `a t`, although
        `ca` is another symbol than `a`.
        Hint: Where does a symbol begin and end in a text such as `ca t`?
""")
def merge_pair_with_a_pattern(slip, symbols, pair):
    text = " ".join(symbols)
    pattern = slip.choose(re.escape(" ".join(pair)), pattern_not_escaped=" ".join(pair))
    if not slip.replaced_in_a_text:
        pattern = r"(?<!\S)" + pattern + r"(?!\S)"
    return tuple(re.sub(pattern, lambda match: "".join(pair), text).split(" "))


@merge_pair.slips("""
    first_occurrence_only: Your code joins only the first occurrence of the pair.
        Hint: Where does the search go on after a pair was found?
    second_symbol_kept: After joining, the second symbol of the pair is still there: the step was 1, not 2.
        Hint: A joined pair uses up two symbols. By how much must the index grow after it?
    one_symbol_lost: After a joined pair one symbol too many is left out.
        Hint: At which index does the search go on after a pair at index i?
    from_right_to_left: Your code joins from right to left. In a, a, a it joins the last two; it
        should be the first two.
        Hint: Which two of a, a, a come first?
    joined_the_wrong_way: The two symbols are joined in the wrong order.
        Hint: Which of the two stands first in the word?
    either_order: The pair is joined in either order; (h, t) is another pair than (t, h).
        Hint: Does your comparison notice which of the two comes first?
    reversed_pair: The reversed pair is joined.
        Hint: Which of the two symbols of `pair` has to stand on the left?
    both_in_the_pair: Any two neighbours that occur in the pair are joined, so (a, a) is joined for the
        pair (a, b).
        Hint: Does `in` compare the left symbol with the left of the pair?
    left_symbol_only: Only the left symbol is compared: it is joined with whatever follows.
        Hint: Which two conditions must both hold?
    right_symbol_only: Only the right symbol is compared: whatever stands before it is joined with it.
        Hint: Which two conditions must both hold?
    nested_tuple: The pair becomes a tuple inside the word; its two symbols should become one longer text.
        Hint: What is `"t" + "h"`?
    end_missed: A pair at the end of the word is not joined.
        Hint: At which index does the last pair begin? Does your loop reach it?
    last_symbol_lost: The last symbol gets lost: the loop over the pairs ends one symbol early.
        Hint: A word of n symbols has n − 1 pairs. What happens to the last symbol when it belongs to none?
    empty_where_absent: Where the pair is not there, an empty tuple comes back instead of the word.
        Hint: What should a word become that does not hold the pair?
    joined_at_the_end: The pair is removed and its joined symbol stands at the end.
        Hint: At which place of the new word does the joined symbol belong?
    pair_left_out: The pair is left out altogether; its joined symbol should take its place.
        Hint: What do you append where the pair was found?
    returns_a_text: A text with spaces comes back; a tuple of symbols is asked for.
        Hint: Which type does the docstring's Returns part name?
    joined_with_a_space: The joined symbol is written with a space or another sign between its two parts.
        Hint: Which text do `t` and `h` give, put side by side with `+`?
    joined_symbol_cut_into_letters: The joined symbol is put into the list letter by letter: `extend` and
        `+=` take a text apart.
        Hint: What does `extend("th")` append to a list, and what does `append("th")`?
    only_joined_kept: Only the joined symbols come back; those that belong to no pair are lost.
        Hint: What does your loop do with a symbol where the pair does not begin?
    list_returned: Your function returns a list; expected a tuple. A list is no key of a dict, and
        it never equals a tuple.
        Hint: Which function makes a tuple of a list?
    unchanged: The word comes back unchanged.
        Hint: Compare a slice of a tuple with a tuple: `symbols[i : i + 2] == pair`.
    whole_word_joined: The whole word is joined to one symbol.
        Hint: Which neighbours are to be joined, and which stay apart?
    even_places_only: The pair is joined only where it begins at an even index.
        Hint: Does your loop step by two symbols even where it has found nothing?
    joined_texts_compared: The joined texts are compared: (t, he) and (th, e) both make *the*, but only
        one of them is the pair.
        Hint: Compare the two symbols one by one, or as a tuple.
    end_of_the_left_symbol: Only the end of the left symbol is compared, so (ca, t) is taken for the pair
        (a, t).
        Hint: A symbol is one unit. Compare whole symbols with `==`.
    last_symbol_again: The last symbol is added at the end, although it may have been joined already.
        Hint: Where is your index after the last two symbols were joined?
    always_two_further: The index always moves on by two, so where nothing is joined the next symbol is lost.
        Hint: By how much must the index grow where nothing was joined?
    overlapping_occurrences: Occurrences that overlap are both joined: in a, a, a the middle one is used
        twice.
        Hint: A symbol that was joined is used up. Can it be the left one of the next pair?
    returns_nothing
""")
def merge_pair_with_slips(slip, symbols, pair):
    if slip.unchanged:
        return symbols
    if slip.from_right_to_left:
        symbols, pair = symbols[::-1], pair[::-1]
    first, second = slip.choose(pair, reversed_pair=pair[::-1])
    found, place = [], 0
    end = len(symbols)
    if slip.last_symbol_lost or slip.last_symbol_again:
        end -= 1
    while place < end:
        left, right = (*symbols, "")[place : place + 2]  # nothing stands beside the last symbol
        fits = (left, right) == (first, second)
        fits = slip.choose(
            fits,
            first_occurrence_only=fits and len(found) == place,
            either_order=sorted((left, right)) == sorted(pair),
            both_in_the_pair=left in pair and right in pair,
            left_symbol_only=left == first and right != "",
            right_symbol_only=right == second,
            end_missed=fits and place < len(symbols) - 2,
            even_places_only=fits and place % 2 == 0,
            joined_texts_compared=right != "" and left + right == first + second,
            end_of_the_left_symbol=left.endswith(first) and right == second,
        )
        if not fits:
            if not slip.only_joined_kept:
                found.append(left)
            place += slip.choose(1, always_two_further=2)
            continue
        found += slip.choose(
            [left + right],
            from_right_to_left=[right + left],
            joined_the_wrong_way=[right + left],
            nested_tuple=[(left, right)],
            pair_left_out=[],
            joined_with_a_space=[f"{left} {right}"],
            joined_symbol_cut_into_letters=left + right,
        )
        place += slip.choose(2, second_symbol_kept=1, one_symbol_lost=3)
        if slip.overlapping_occurrences and symbols[place - 1 : place + 1] == pair:
            place -= 1
    if slip.joined_at_the_end:
        for _ in range(len(symbols) - len(found)):
            found.remove(first + second)
            found.append(first + second)
    if slip.last_symbol_again:
        found.append(symbols[-1])
    if slip.from_right_to_left:
        found.reverse()
    if slip.empty_where_absent and len(found) == len(symbols):
        return ()
    if slip.returns_a_text:
        return " ".join(found)
    return slip.choose(
        tuple(found),
        list_returned=found,
        whole_word_joined=("".join(symbols),),
        returns_nothing=None,
    )


@merge_pair.misconception(
    means="The borders of all symbols are lost: everything is joined to a text and cut into letters.",
    nudge="Which symbols have more than one letter already? They should stay as they are.",
)
def cut_into_letters(symbols, pair):
    whole = "".join(pair)
    marked = "".join(symbols).replace(whole, "\0")
    return tuple(whole if letter == "\0" else letter for letter in marked)


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
