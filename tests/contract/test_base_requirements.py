"""Requirements of readers: the floors that the committed stubs demand, and all that is imported."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from distributions.hatch_build import PACKAGES, read_tree, reader_modules

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "meta" / "v1"
# Imported for types alone, by those ways of reading that are named after them, or by merges.
OF_THE_CALLER = {"_typeshed", "types_boto3_s3", "duckdb", "numpy", "pandas", "polars", "pyspark"}


def floors() -> dict[str, str]:
    """Read `name>=version` of the base install from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return dict(requirement.split(">=") for requirement in project["dependencies"])


def test_grpcio_floor_is_what_the_stubs_demand() -> None:
    demanded = {
        found
        for stub in STUBS.glob("*_pb2_grpc.py")
        for found in re.findall(r"^GRPC_GENERATED_VERSION = '(.+)'", stub.read_text(), re.M)
    }

    assert demanded == {floors()["grpcio"]}


def test_protobuf_floor_is_what_the_stubs_demand() -> None:
    demanded = {
        found
        for stub in STUBS.glob("*_pb2.py")
        for found in re.findall(r"^# Protobuf Python Version: (.+)$", stub.read_text(), re.M)
    }

    assert demanded == {floors()["protobuf"]}


@pytest.mark.long
def test_what_readers_import_is_what_the_read_extra_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # The clients of other clouds are imported when their stores are opened.
    listed = [*project["dependencies"], *extras["read"], *extras["gcs"], *extras["azure"]]
    tree = read_tree(ROOT)

    brought = {name.lower() for name in closure(names_of(listed))}
    imported = {top for name in reader_modules(tree) for top in foreign_tops(tree.modules[name])}

    owners = packages_distributions()
    lacking = {
        top
        for top in imported - OF_THE_CALLER
        if not {owner.lower() for owner in owners[top]} & brought
    }
    assert lacking == set()


@pytest.mark.long
def test_meta_opens_each_kind_of_store_with_what_the_server_extra_brings() -> None:
    """A process opens them as meta does, without the packages that only other extras bring."""
    projects = [ROOT / "pyproject.toml", ROOT / "distributions" / "server" / "pyproject.toml"]
    readers, server = [tomllib.loads(path.read_text())["project"] for path in projects]
    extras = server["optional-dependencies"]
    brought = closure(names_of([*readers["dependencies"], *resolved(extras, "server")]))
    of_all = closure(names_of(text for extra in extras for text in resolved(extras, extra)))
    others = {*map(canonicalize_name, of_all)} - {*map(canonicalize_name, brought)}
    hidden = [
        top
        for top, owners in packages_distributions().items()
        if {*map(canonicalize_name, owners)} <= others
    ]
    assert "duckdb" in hidden
    code = f"""
import sys
sys.modules.update(dict.fromkeys({hidden!r}))
import meta.server.server
from segments.location import StoreLocation
from segments.store.open import open_store
for url in ("file:///folder", "s3://bucket/path?endpoint=http://localhost:1&region=us-east-1"):
    open_store(StoreLocation.from_url(url))
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def resolved(extras: Mapping[str, Sequence[str]], name: str) -> Iterator[str]:
    """The requirements of an extra and of those that it names."""
    for text in extras[name]:
        own = re.fullmatch(r"segplane-server\[(.+)\]", text)
        if own is None:
            yield text
        else:
            for other in own[1].split(","):
                yield from resolved(extras, other)


def foreign_tops(path: Path) -> Iterator[str]:
    """The packages of others that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for top in {name.partition(".")[0] for name in names}:
            if top not in {*sys.stdlib_module_names, *PACKAGES}:
                yield top


def names_of(requirements: Iterable[str]) -> set[str]:
    """Names of required distributions, without those of extras and of other environments."""
    parsed = [Requirement(text) for text in requirements]
    needed = {r.name for r in parsed if r.marker is None or r.marker.evaluate({"extra": ""})}
    return needed - {"segplane"}


def closure(names: Iterable[str]) -> set[str]:
    """Distributions and all that they require, as installed here."""
    brought, waiting = set[str](), list(names)
    while waiting:
        if (name := waiting.pop()) not in brought:
            brought.add(name)
            waiting += names_of(requires(name) or ())
    return brought
