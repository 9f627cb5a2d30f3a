"""Every public class has its own name, so that a name in a log or a review means one thing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from segplane.cli.connection import REFUSALS

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("collector", "janitor", "merge_worker", "meta", "nursery", "segments", "segplane"),
    *("kql", "dataplane"),
)


def _public_classes() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "v1" in path.parts:  # generated
                continue
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, str(path.relative_to(ROOT))


def test_public_class_names_are_unique_in_the_tree() -> None:
    modules: dict[str, list[str]] = {}
    for name, path in _public_classes():
        modules.setdefault(name, []).append(path)

    # One `Settings` per package, read in its `__main__`.
    settings = modules.pop("Settings")
    assert len(settings) == len({path.split("/")[0] for path in settings})
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


@pytest.mark.long
def test_refusals_of_commands_name_classes_that_exist() -> None:
    known = {name for name, _ in _public_classes()}

    assert REFUSALS.keys() - known == {"OSError"}
