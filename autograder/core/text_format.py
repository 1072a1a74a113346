"""Format words, counts and names for messages, and make foreign texts safe to print."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

# A terminal's colours and titles are set by escape sequences. Each begins with the character ESC or
# with its 8-bit form.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def join_words(words: object, conjunction: str = "and") -> str:
    """Join words with commas, and the last two with "and" or another conjunction.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    parts = [str(word) for word in words]  # type: ignore[attr-defined]
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def format_name_suggestion(name: str, known_names: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: a question with the most similar one, or ".".

    >>> format_name_suggestion("tolerence", ["points", "tolerance"]), format_name_suggestion("x", ["points"])
    ("; did you mean 'tolerance'?", '.')
    """
    similar = get_close_matches(name, list(known_names), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else "."


def format_count(number: float, singular: str, plural: str = "") -> str:
    """Return a count with its noun in the singular or plural, such as "1 lab" or "2 labs".

    >>> format_count(1, "submission"), format_count(2, "copy"), format_count(2, "person", "people")
    ('1 submission', '2 copies', '2 people')
    >>> format_count(2, "day"), format_count(1.0, "point"), format_count(2.5, "point")
    ('2 days', '1 point', '2.5 points')
    """
    if number == 1:
        noun = singular
    elif plural:
        noun = plural
    elif re.search("[^aeiou]y$", singular):
        noun = f"{singular[:-1]}ies"
    else:
        noun = f"{singular}s"
    amount = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{amount} {noun}"


def strip_escapes(text: str) -> str:
    """Remove a terminal's escape sequences from a text.

    >>> strip_escapes("\\x1b[31mred\\x1b[0m\\x1b]0;a title\\x07")
    'red'
    """
    return _ESCAPES.sub("", text)


def make_encodable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode (lone surrogates) by "?".

    Python reads such characters from file names that are not valid UTF-8.

    >>> make_encodable("a" + chr(0xDC80))
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def make_printable(text: str) -> str:
    """Remove escape sequences and replace control characters by U+FFFD.

    The result is safe for a terminal, a database and a web page.

    >>> make_printable("a\\x00b\\x1b[1mc")
    'a\ufffdbc'
    """
    characters = []
    for character in strip_escapes(text):
        is_harmless = character.isprintable() or character in "\n\t"
        characters.append(character if is_harmless else "\N{REPLACEMENT CHARACTER}")
    return "".join(characters)


def truncate(text: str, max_characters: int) -> str:
    """Shorten a text to at most `max_characters`, and end it with dots if it was longer.

    >>> truncate("a long text", 8), truncate("short", 8)
    ('a lon...', 'short')
    """
    if len(text) <= max_characters:
        return text
    return f"{text[: max_characters - 3]}..."


def backticks_to_html(sentence: str) -> str:
    """Return a sentence as HTML, with its parts in `backticks` marked up as code.

    >>> backticks_to_html("End with `return`.")
    'End with <code>return</code>.'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", sentence)
