"""Requirements of readers: the floors that the committed stubs demand, and all that is imported."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from distributions.hatch_build import PACKAGES, read_tree, reader_modules

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "meta" / "v1"
# Imported for types alone, or by those ways of reading that are named after them.
OF_THE_CALLER = {"_typeshed", "types_boto3_s3", "duckdb", "pandas", "polars", "pyspark"}


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


def test_what_readers_import_is_what_the_read_extra_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["read"]]
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


def foreign_tops(path: Path) -> Iterator[str]:
    """The packages of others that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for top in {name.partition(".")[0] for name in names}:
            if top not in {*sys.stdlib_module_names, *PACKAGES}:
                yield top


def names_of(requirements: Iterable[str]) -> set[str]:
    """Names of required distributions, those of extras left out."""
    named = (text for text in requirements if "extra ==" not in text)
    return {re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in named} - {"segplane"}


def closure(names: Iterable[str]) -> set[str]:
    """Distributions and all that they require, as installed here."""
    brought, waiting = set[str](), list(names)
    while waiting:
        if (name := waiting.pop()) not in brought:
            brought.add(name)
            waiting += names_of(requires(name) or ())
    return brought
