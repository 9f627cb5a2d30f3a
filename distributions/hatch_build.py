"""Build hook of both wheels: the modules of each, and the places of packages with short names.

`segplane` gets what readers import, `segplane-server` everything else; no module is in both. The
packages `segments`, `kql` and `dataplane` stand below `segplane` in both, because other projects
may have their names. An editable install uses the tree as it is, where `segplane/kql` has the
public names of `kql`. See docs/adr/0014-two-distributions.md.
"""

import ast
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilderConfig

PACKAGES = (
    "meta",
    "segments",
    "kql",
    "dataplane",
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
    "kql",
    "segplane.read",
    "pyspark_segplane",
)
READER_PACKAGES = ("meta", "segments", "kql", "dataplane", "segplane", "pyspark_segplane")
MOVED = ("segments", "kql", "dataplane")
MOVED_TO = "segplane"
# In the tree only: one stands in for a moved package, one is bundled into a served file, and the
# last needs Grafana's SDK to write files of deploy/.
TREE_ONLY = (
    Path("segplane", "kql"),
    Path("segplane", "gateway", "console", "scripts"),
    Path("segplane", "deploy", "dashboards"),
)
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
    paths = sorted(path for name in PACKAGES for path in _files(root, name) if path.suffix == ".py")
    return Tree(root, {_module_name(root, path): path for path in paths})


def placed_files(tree: Tree, part: str) -> Iterator[tuple[str, bytes]]:
    """The files of one wheel: place in it, content. `part` is `readers` or `server`."""
    readers = reader_modules(tree)
    for name in PACKAGES:
        for path in _files(tree.root, name):
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
    """The source with imports of moved packages changed; lines keep their numbers."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            if any(_is_moved(alias.name) for alias in node.names):
                raise BuildError(f"{path}:{node.lineno}: write `from ... import ...`")
        elif isinstance(node, ast.ImportFrom) and _is_moved(node.module or ""):
            top = (node.module or "").partition(".")[0]
            _replace(lines, node.lineno, f"from {top}", f"from {MOVED_TO}.{top}", path)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _STUB_BUILDER:
            for top in MOVED:
                has_name = _has_name(node, top)
                _replace(lines, node.lineno, f"'{top}.", f"'{MOVED_TO}.{top}.", path, has_name)
    return "".join(lines)


def _has_name(call: ast.Call, top: str) -> bool:
    names = (str(a.value) for a in call.args if isinstance(a, ast.Constant))
    return any(name.startswith(f"{top}.") for name in names)


def _replace(
    lines: list[str], number: int, old: str, new: str, path: str, is_there: bool = True
) -> None:
    if not is_there:
        return
    if lines[number - 1].count(old) != 1:
        raise BuildError(f"{path}:{number}: expected `{old}` once")
    lines[number - 1] = lines[number - 1].replace(old, new)


def _is_moved(name: str) -> bool:
    return name.partition(".")[0] in MOVED


def _place(relative: Path) -> str:
    parts = (MOVED_TO, *relative.parts) if relative.parts[0] in MOVED else relative.parts
    return str(PurePosixPath(*parts))


def _files(root: Path, name: str) -> Iterator[Path]:
    for path in (root / name).rglob("*"):
        in_tree_only = any(path.relative_to(root).is_relative_to(folder) for folder in TREE_ONLY)
        if path.is_file() and "__pycache__" not in path.parts and not in_tree_only:
            yield path


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
