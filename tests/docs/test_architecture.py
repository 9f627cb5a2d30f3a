"""The flows of docs/architecture.md list existing modules, each once, each reached from above."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.references import PACKAGES, is_module

PAGE = (ROOT / "docs" / "architecture.md").read_text()
FLOWS = ["An export", "A commit", "A nursery cycle", "A merge", "A lookup", "An orphan"]
_ROW = re.compile(r"^\| (\w+) \| `([\w.]+)` \| .+ \|$", re.MULTILINE)


def rows_of(flow: str) -> list[tuple[str, str]]:
    """Read the process and module of each row of a flow's table."""
    section = PAGE.partition(f"### {flow}\n")[2]
    return _ROW.findall(re.split(r"^##", section, maxsplit=1, flags=re.MULTILINE)[0])


def test_the_page_has_these_flows() -> None:
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == FLOWS


@pytest.mark.parametrize("flow", FLOWS)
def test_a_flow_lists_modules_each_once(flow: str) -> None:
    modules = [module for _, module in rows_of(flow)]

    assert len(modules) >= 10
    assert [module for module in modules if not is_module(module)] == []
    assert len(set(modules)) == len(modules)


@pytest.mark.parametrize("flow", FLOWS)
def test_a_module_of_a_flow_is_imported_by_one_above_it_in_its_process(flow: str) -> None:
    entered: dict[str, set[str]] = {}
    unreached = []
    for process, module in rows_of(flow):
        reachable = entered.setdefault(process, set())
        # The first module of a process is where the flow enters it; calls to meta enter a service.
        if reachable and module not in reachable and not module.startswith("meta.services."):
            unreached.append(module)
        reachable |= imports_of(module)
    assert unreached == []


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules that a module imports, with the packages around them, and its own neighbours."""
    found: set[str] = set()
    for source in _sources(module):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(name for name in found if name.split(".")[0] in PACKAGES and is_module(name))


def _sources(module: str) -> list[Path]:
    path = ROOT.joinpath(*module.split("."))
    return sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
