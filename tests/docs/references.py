"""Resolves a reference of the documentation to a module, a name in it, or a file."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGES = (
    *("meta", "segments", "collector", "nursery", "merge_worker", "janitor", "segplane"),
    *("kql", "dataplane"),
)
TESTS = tuple(path.name for path in (ROOT / "tests").iterdir() if path.is_dir())
FOLDERS = (*PACKAGES, *TESTS, "tests", "benchmarks", "docs", "protos", "deploy", "requirements")
_PATH = re.compile(r"[\w.*{},-]+(/[\w.*{},-]+)*/?")
_DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+")
# Keys of a footer's metadata are written like modules.
_FOOTER_KEY = re.compile(r"segplane\.(\w+)")


def broken(reference: str) -> bool:
    """Whether the text reads like a module or a file of this project and there is none."""
    top = re.split(r"[/.]", reference)[0]
    if top not in FOLDERS or reference == top:
        return False
    if "/" in reference:
        return bool(_PATH.fullmatch(reference)) and not is_file(reference)
    if not _DOTTED.fullmatch(reference) or top not in PACKAGES:
        return False
    return not (is_name(reference) or _is_footer_key(reference))


def is_file(reference: str) -> bool:
    """Whether a path, or all that its braces expand to, exists.

    `tests/` at its start and `.py` at its end may be omitted.
    """
    return all(
        any(any(root.glob(form)) for root in (ROOT, ROOT / "tests") for form in _forms(path))
        for path in _expanded(reference)
    )


def _forms(path: str) -> tuple[str, str]:
    return path.rstrip("/"), path.rstrip("/") + ".py"


def is_module(reference: str) -> bool:
    """Whether a dotted name is a module or a package of this project."""
    path = ROOT.joinpath(*reference.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def is_name(reference: str) -> bool:
    """Whether a dotted name is a module, or is defined in one, such as a method of a class."""
    parts = reference.split(".")
    for length in range(len(parts), 0, -1):
        if is_module(".".join(parts[:length])):
            return _defines(".".join(parts[:length]), tuple(parts[length:]))
    return False


def _defines(module: str, names: tuple[str, ...]) -> bool:
    if not names:
        return True
    path = ROOT.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return names[0] in _names_of(source) and len(names) <= 2


@cache
def _names_of(source: Path) -> frozenset[str]:
    if not source.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(names)


def _is_footer_key(reference: str) -> bool:
    found = _FOOTER_KEY.fullmatch(reference)
    # Features name their entries beside the core's.
    files = ("parquet/footer.py", "token_index/place.py")
    footer = "".join((ROOT / "segments" / file).read_text() for file in files)
    return found is not None and (found[1] in footer)


def _expanded(reference: str) -> list[str]:
    choice = re.search(r"\{([^{}]*)\}", reference)
    if choice is None:
        return [reference]
    before, after = reference[: choice.start()], reference[choice.end() :]
    return [path for one in choice[1].split(",") for path in _expanded(before + one + after)]
