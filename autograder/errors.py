"""What can go wrong in a way that a person can mend: one sentence each, and the exit code that goes with it.

    Complaint           the command cannot go on; exit code 1
    └── Usage           the command was asked for something that it cannot do; exit code 2

Every module's own error derives from one of the two, and the command line turns each into its sentence.
"""

import re

# Terminals' escape sequences: colours, titles and whatever else begins with ESC or its 8-bit form.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)

INSTALL_ALL = (
    "`make setup` brings it; where the engine came as a wheel, "
    "`pip install 'labs-autograder[lab,grading,alike]'` does."
)


class Complaint(Exception):
    """Something that a person can mend; the text says what is wrong, where, and what to do."""

    exit_code = 1


class Usage(Complaint):
    """A wrong name, path or option; the text says which are right."""

    exit_code = 2


def listed(names: object, word: str = "and") -> str:
    """Names as a sentence lists them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    parts = [str(name) for name in names]  # type: ignore[attr-defined]
    return f" {word} ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def counted(number: float, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "hand-in"), counted(2, "copy"), counted(2, "day"), counted(2, "person", "people")
    ('1 hand-in', '2 copies', '2 days', '2 people')
    >>> counted(1.0, "point"), counted(2.5, "point")
    ('1 point', '2.5 points')
    """
    many = many or (f"{one[:-1]}ies" if re.search("[^aeiou]y$", one) else f"{one}s")
    amount = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{amount} {one if number == 1 else many}"


def without_escapes(text: str) -> str:
    """Text without a terminal's escape sequences.

    >>> without_escapes("\\x1b[31mred\\x1b[0m\\x1b]0;a title\\x07")
    'red'
    """
    return _ESCAPES.sub("", text)


def encodable(text: str) -> str:
    """Text as any file takes it: what is half a character, as in the name of a folder that is no UTF-8, is a "?".

    >>> encodable("a" + chr(0xDC80))
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def printable(text: str) -> str:
    """Text as a terminal, a database and a page can take it: what is no letter, sign or space is marked.

    >>> printable("a\\x00b\\x1b[1mc")
    'a\ufffdbc'
    """
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in without_escapes(text)
    )


def cut(text: str, most: int) -> str:
    """A text in at most so many characters; what is left out is shown by dots.

    >>> cut("a long text", 8), cut("short", 8)
    ('a lon...', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."
