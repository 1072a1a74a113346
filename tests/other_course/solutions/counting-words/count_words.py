"""The exercise `count_words`: how often each word stands in a text, as a mapping."""

from chance_tools.words import sentence

from autograder.authoring import Exercise, inputs

count_words = Exercise("count_words", points=3)


@count_words.domain(sizes={"words": (1, 40)})
def anywhere(rng, words):
    return inputs(sentence(rng, words))


@count_words.case("the example")
def example(rng):
    return inputs("The sea the boat")


@count_words.case("an empty text")
def empty(rng):
    return inputs("")


@count_words.case("eight words, one of them in capitals")
def eight(rng):
    return inputs(sentence(rng, 8))


@count_words.misconception(
    means="Words with capitals are counted apart from the same words without.",
    nudge="Is `The` another word than `the`?",
)
def capitals_kept_apart(text):
    return {word: text.split().count(word) for word in text.split()}


@count_words.misconception(
    means="You counted letters, not words.",
    nudge="What does a loop over a text go through?",
)
def letters(text):
    return {letter: text.lower().count(letter) for letter in text.lower()}


@count_words.variant
def with_a_counter(text):
    from collections import Counter

    return dict(Counter(text.lower().split()))


@count_words.variant
def with_a_subclass(text):
    from collections import Counter

    return Counter(text.lower().split())
