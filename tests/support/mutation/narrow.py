"""The tests of a module: those that import it or are named like it, then those of its area."""

import re
from pathlib import Path

# Tests of the modules below each folder.
AREAS = {
    "collector": ("tests/collector",),
    "janitor": ("tests/janitor",),
    "merge_worker": ("tests/merge_worker",),
    "meta/store": ("tests/meta", "tests/contract/test_retry_safety.py"),
    "nursery": ("tests/nursery",),
    "segments": ("tests/segments",),
}
# Files of tests that run first: most mutants end there.
NARROW_MAX = 6


def area_of(module: str) -> str:
    """The folder of AREAS that a module is below."""
    (area,) = (area for area in AREAS if module.startswith(f"{area}/"))
    return area


def narrow_tests(root: Path, module: str) -> list[str]:
    """Files of tests that import a module, of any area, or are named like it or its package."""
    path = Path(module)
    parent, _, name = ".".join(path.with_suffix("").parts).rpartition(".")
    imports = re.compile(
        rf"^from {re.escape(parent)}(\.{name} import |  *import .*\b{name}\b)", re.MULTILINE
    )
    words = {word for word in (name, name.rstrip("s"), path.parent.name) if len(word) > 3}
    area = AREAS[area_of(module)]
    ranked: list[tuple[int, str]] = []
    for test in sorted((root / "tests").rglob("test_*.py")):
        place = str(test.relative_to(root))
        named = sum(word in test.stem for word in words) if place.startswith(area) else 0
        if score := 2 * bool(imports.search(test.read_text())) + named:
            ranked.append((-score, place))
    return [place for _, place in sorted(ranked)[:NARROW_MAX]]
