"""Measures of plain source code: names, docstrings, density, layout.

python tests/style/measure_source.py [FOLDER…]    prints them for packages; `test_plain_source.py` keeps the aims
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPANIONS = ("course_import", "course_site", "similarity", "attention_labs")
PACKAGES = ("autograder", *COMPANIONS)

MAX_COLUMNS = 100

# Pronouns, prepositions, adverbs and the like: as the name of a value, they do not say what the value is.
FUNCTION_WORDS = frozenset(
    """
    about after again against all alone also always among an and another any apart are around as at away back be been
    before behind below beneath beside besides between beyond both but by can could did do does done down each either
    elsewhere enough ever every everybody everything few for from had has have he hence her here hers him his how if in
    into is it its just least less many may me might mine more most much must my near neither never no nobody none nor not
    nothing now of off often on once one ones only or other others our ours out over past per perhaps please rather rest
    same several shall she should since so some something still such than that the their theirs them then there therefore
    these they this those through thus till to together too toward under until up upon us very was we were what whatever
    when where whether which while who whole whom whose why will with within without would yes yet you your yours
    """.split()
)
IRREGULAR_PARTICIPLES = frozenset(
    """
    asked begun bent borne bought bound broken brought built came caught chosen come cut dealt drawn due fallen felt found
    given gone got grown heard held hung kept known laid lain led left lent lost made meant met paid put read said sat seen
    sent shown slept spent spoken stood taken thought told took torn understood wanted went won worn written
    """.split()
)
# Participles that are terms of the field, and words that only look like participles.
TERMS = frozenset(
    """
    bed bound built cached cut embed exceed expected feed fixed hidden indeed led left masked need nested padded proceed
    put read red seed shared shed signed sorted speed unexpected unread
    """.split()
)
CLAUSE_WORDS = re.compile(
    r"(?:As|How|If|Of|That|What|When|Where|Whether|Which|Who|Whom|Whose|Why)\b"
)

# A union such as `ast.ListComp | ast.SetComp` in a call would be made anew for each of a million nodes.
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, *_FUNCTIONS)


@dataclass
class Measures:
    """Counts over some files; the properties are the rates that the aims are about."""

    lines: int = 0
    docstrings: int = 0
    clause_docstrings: list[str] = field(default_factory=list)
    names: int = 0
    unclear_names: Counter[str] = field(default_factory=Counter)
    comprehensions: int = 0
    conditionals: int = 0
    nested_conditionals: list[str] = field(default_factory=list)
    walruses: int = 0
    long_lines: int = 0
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    modules: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    function_lines: list[int] = field(default_factory=list)

    def per_thousand_lines(self, count: int) -> float:
        return 1000 * count / max(1, self.lines)

    @property
    def unclear_name_share(self) -> float:
        """Share of names that are function words or bare participles, in per cent."""
        return 100 * sum(self.unclear_names.values()) / max(1, self.names)

    @property
    def clause_docstring_share(self) -> float:
        """Share of docstrings that begin with a relative clause, in per cent."""
        return 100 * len(self.clause_docstrings) / max(1, self.docstrings)

    @property
    def repeated_classes(self) -> dict[str, list[str]]:
        return {name: files for name, files in self.classes.items() if len(files) > 1}

    @property
    def repeated_modules(self) -> dict[str, list[str]]:
        return {name: files for name, files in self.modules.items() if len(files) > 1}


def python_files(folder: Path) -> Iterator[Path]:
    """Yield the modules below a folder, without templates."""
    for path in sorted(folder.rglob("*.py")):
        if not {"templates", "__pycache__"} & set(path.parts):
            yield path


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the module, and each of its statements: a tenth of what `ast.walk` yields."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, name, ())


def is_unclear_name(name: str) -> bool:
    """Return True for a function word or a bare participle.

    >>> [is_unclear_name(name) for name in ("found", "_other", "roster", "expected", "checked", "seed")]
    [True, True, False, False, True, False]
    """
    word = name.strip("_").lower()
    if len(word) < 2 or word in TERMS:
        return False
    return (
        word in FUNCTION_WORDS
        or word in IRREGULAR_PARTICIPLES
        or bool(re.fullmatch(r"[a-z]{2,}ed", word))
    )


def measure_files(paths: Iterable[Path], root: Path = ROOT) -> Measures:
    """Measure these files; places are told relative to the root."""
    measures = Measures()
    for path in paths:
        _measure_file(path, path.relative_to(root).as_posix(), measures)
    return measures


def _measure_file(path: Path, place: str, measures: Measures) -> None:
    source = path.read_text("utf-8")
    measures.lines += source.count("\n")
    measures.long_lines += sum(len(line) > MAX_COLUMNS for line in source.splitlines())
    if path.stem not in {
        "__init__",
        "__main__",
        "command",
    }:  # `command`: the entry point of each companion
        measures.modules[path.stem].append(place)
    for node in ast.walk(ast.parse(source)):
        _measure_node(node, place, measures)


def _measure_node(node: ast.AST, place: str, measures: Measures) -> None:
    if isinstance(node, _COMPREHENSIONS):
        measures.comprehensions += 1
    elif isinstance(node, ast.IfExp):
        measures.conditionals += 1
        if any(isinstance(inner, ast.IfExp) for inner in ast.walk(node) if inner is not node):
            measures.nested_conditionals.append(f"{place}:{node.lineno}")
    elif isinstance(node, ast.NamedExpr):
        measures.walruses += 1
    elif isinstance(node, ast.ClassDef):
        measures.classes[node.name].append(place)
    elif isinstance(node, _FUNCTIONS):
        measures.function_lines.append((node.end_lineno or node.lineno) - node.lineno + 1)
    _measure_docstring(node, place, measures)
    name = _defined_name(node)
    if name:
        measures.names += 1
        if is_unclear_name(name):
            measures.unclear_names[name] += 1


def _measure_docstring(node: ast.AST, place: str, measures: Measures) -> None:
    if not isinstance(node, _WITH_DOCSTRING):
        return
    text = ast.get_docstring(node)
    if text is None:
        return
    measures.docstrings += 1
    if CLAUSE_WORDS.match(text):
        measures.clause_docstrings.append(f"{place}: {text.splitlines()[0]}")


def _defined_name(node: ast.AST) -> str:
    """Return the name of a function, an argument or a variable where it is bound, else an empty text."""
    if isinstance(node, _FUNCTIONS):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return ""


def report(measures: Measures) -> str:
    """Return the measures as a table in plain text."""
    functions = sorted(measures.function_lines) or [0]
    rows = [
        ("lines", f"{measures.lines:,}"),
        (
            "docstrings that begin with a relative clause",
            f"{measures.clause_docstring_share:.1f} %",
        ),
        ("names that are function words or participles", f"{measures.unclear_name_share:.1f} %"),
        ("class names with several meanings", str(len(measures.repeated_classes))),
        ("module names with several meanings", str(len(measures.repeated_modules))),
        (
            "comprehensions in 1,000 lines",
            f"{measures.per_thousand_lines(measures.comprehensions):.1f}",
        ),
        (
            "conditional expressions in 1,000 lines",
            f"{measures.per_thousand_lines(measures.conditionals):.1f}",
        ),
        ("nested conditional expressions", str(len(measures.nested_conditionals))),
        ("walruses in 1,000 lines", f"{measures.per_thousand_lines(measures.walruses):.1f}"),
        (
            f"lines over {MAX_COLUMNS} columns in 1,000",
            f"{measures.per_thousand_lines(measures.long_lines):.1f}",
        ),
        (
            "lines of a function, median / longest",
            f"{functions[len(functions) // 2]} / {functions[-1]}",
        ),
    ]
    width = max(len(label) for label, _ in rows)
    table = "\n".join(f"{label:{width}}  {value}" for label, value in rows)
    common = ", ".join(
        f"{name} ({count})" for name, count in measures.unclear_names.most_common(20)
    )
    return f"{table}\n\nunclear names: {common}"


def main() -> None:
    folders = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / name for name in PACKAGES]
    paths: list[Path] = []
    for folder in folders:
        paths += [folder] if folder.is_file() else python_files(folder)
    print(report(measure_files(paths)))


if __name__ == "__main__":
    main()
