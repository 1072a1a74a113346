"""The exercise `longest_word`: a text among the answers."""

from chance_tools.words import sentence

from autograder.authoring import Exercise, inputs

longest_word = Exercise("longest_word", points=2)


@longest_word.domain(sizes={"words": (1, 40)})
def anywhere(rng, words):
    return inputs(sentence(rng, words))


@longest_word.case("the example, in which two are the longest")
def example(rng):
    return inputs("a boat and a sail")


@longest_word.misconception(
    means="Of several longest words you gave the last.",
    nudge="What happens to the word you have when the next is just as long?",
)
def the_last(text):
    return max(reversed(text.split()), key=len)


@longest_word.misconception(
    means="You gave how long it is, not the word.",
    nudge="What does the docstring say comes back?",
)
def its_length(text):
    return max(map(len, text.split()))


@longest_word.variant
def with_a_loop(text):
    longest = ""
    for word in text.split():
        if len(word) > len(longest):
            longest = word
    return longest
