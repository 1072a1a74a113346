"""The exercise `print_counts`: a printed answer, which builds on `count_words`."""

from chance_tools.words import sentence

from autograder.authoring import Exercise, inputs

from .count_words import count_words

print_counts = Exercise("print_counts", points=1, returns="printed", builds_on=[count_words])


@print_counts.domain(sizes={"words": (1, 20)})
def anywhere(rng, words):
    return inputs(sentence(rng, words))


@print_counts.case("the example")
def example(rng):
    return inputs("the sea the boat")


@print_counts.misconception(
    means="The words stand in the order of the text, not of the alphabet.",
    nudge="Which function puts things in order?",
)
def not_sorted(text):
    for word, count in count_words.reference(text).items():
        print(f"{word}: {count}")


@print_counts.variant
def in_one_go(text):
    counts = count_words.reference(text)
    print("\n".join(f"{word}: {counts[word]}" for word in sorted(counts)))
