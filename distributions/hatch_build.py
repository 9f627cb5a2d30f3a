"""Build hook of both wheels: the modules of each, and the place of `segments`.

`segplane` gets what readers import, `segplane-server` everything else; no module is in both. The
package `segments` becomes `segplane.segments` in both, because another project has its name. An
editable install uses the tree as it is. See docs/adr/0014-two-distributions.md.
"""

import ast
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilderConfig

PACKAGES = (
    "meta",
    "segments",
    "collector",
    "nursery",
    "merge_worker",
    "janitor",
    "segplane",
    "pyspark_segplane",
)
# Modules that readers import by name; their own imports go with them.
READER_ROOTS = (
    "meta.channel",
    "meta.client",
    "meta.v1",
    "segments",
    "segplane.kql",
    "segplane.read",
    "pyspark_segplane",
)
READER_PACKAGES = ("meta", "segments", "segplane", "pyspark_segplane")
MOVED = "segments"
MOVED_TO = "segplane.segments"
# Registers the classes of generated stubs under the name of their module, which pickle uses.
_STUB_BUILDER = "BuildTopDescriptorsAndMessages"


class BuildError(Exception):
    """The tree cannot be divided or placed; the message names the module."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The Python modules below `root` by name; a package has the path of its `__init__.py`."""

    root: Path
    modules: dict[str, Path]

    def below(self, name: str) -> Iterator[str]:
        """A module and all modules in it."""
        return (m for m in self.modules if m == name or m.startswith(f"{name}."))

    def owner(self, path: Path) -> str:
        """The module that a file belongs to: its own, that of a `.pyi`, else its package."""
        source = path.with_suffix(".py") if path.suffix == ".pyi" else path
        name = _module_name(self.root, source)
        while name not in self.modules:
            name = name.rpartition(".")[0]
            if not name:
                raise BuildError(f"{path} is in no package")
        return name


class PlacingHook(BuildHookInterface[WheelBuilderConfig]):
    """Gives hatchling the placed files of one wheel; `part` and `tree` are in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files to a folder of their own and name each with its place."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="segplane-wheel-"))
        tree = read_tree(Path(self.root, self.config["tree"]).resolve())
        for place, content in sorted(placed_files(tree, self.config["part"])):
            target = self._folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o644)
            build_data["force_include"][str(target)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            shutil.rmtree(self._folder)


def read_tree(root: Path) -> Tree:
    """Find the modules of our packages."""
    paths = sorted(path for name in PACKAGES for path in (root / name).rglob("*.py"))
    return Tree(root, {_module_name(root, path): path for path in paths})


def placed_files(tree: Tree, part: str) -> Iterator[tuple[str, bytes]]:
    """The files of one wheel: place in it, content. `part` is `readers` or `server`."""
    readers = reader_modules(tree)
    for name in PACKAGES:
        for path in (tree.root / name).rglob("*"):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            if (tree.owner(path) in readers) == (part == "readers"):
                content = path.read_bytes()
                if path.suffix in (".py", ".pyi"):
                    content = moved_imports(content.decode(), str(path)).encode()
                yield _place(path.relative_to(tree.root)), content


def reader_modules(tree: Tree) -> frozenset[str]:
    """The modules that readers import, with their packages.

    Raises BuildError if one is of a process: a reader's environment must not get its package.
    """
    waiting = [(module, "") for root in READER_ROOTS for module in tree.below(root)]
    modules: set[str] = set()
    while waiting:
        name, importer = waiting.pop()
        if name in modules:
            continue
        if name.partition(".")[0] not in READER_PACKAGES:
            raise BuildError(f"{importer} is of the readers and imports {name} of a process")
        modules.add(name)
        if package := name.rpartition(".")[0]:
            waiting.append((package, name))
        waiting += [(imported, name) for imported in imports_of(tree, name)]
    return frozenset(modules)


def imports_of(tree: Tree, name: str) -> Iterator[str]:
    """The modules of ours that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(tree.modules[name].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in tree.modules)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise BuildError(f"{name} has a relative import in line {node.lineno}")
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from (imported for imported in names if imported in tree.modules)


def moved_imports(source: str, path: str) -> str:
    """The source with imports of `segments` changed to its place; lines keep their numbers."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            if any(_is_moved(alias.name) for alias in node.names):
                raise BuildError(f"{path}:{node.lineno}: write `from {MOVED}... import ...`")
        elif isinstance(node, ast.ImportFrom) and _is_moved(node.module or ""):
            _replace(lines, node.lineno, f"from {MOVED}", f"from {MOVED_TO}", path)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _STUB_BUILDER:
            _replace(lines, node.lineno, f"'{MOVED}.", f"'{MOVED_TO}.", path, _has_name(node))
    return "".join(lines)


def _has_name(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Constant) and _is_moved(str(a.value)) for a in call.args)


def _replace(
    lines: list[str], number: int, old: str, new: str, path: str, is_there: bool = True
) -> None:
    if not is_there:
        return
    if lines[number - 1].count(old) != 1:
        raise BuildError(f"{path}:{number}: expected `{old}` once")
    lines[number - 1] = lines[number - 1].replace(old, new)


def _is_moved(name: str) -> bool:
    return name.partition(".")[0] == MOVED


def _place(relative: Path) -> str:
    top, *rest = relative.parts
    parts: Iterable[str] = MOVED_TO.split(".") if top == MOVED else (top,)
    return str(PurePosixPath(*parts, *rest))


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
