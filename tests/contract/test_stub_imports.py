"""The stubs, the client and readers import with what `segplane` and its extra `read` demand."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STUBS = sorted(f"meta.v1.{file.stem}" for file in (ROOT / "meta" / "v1").glob("*_pb2*.py"))

# Hides every installed package that the base dependencies do not bring, as if it were absent.
IMPORT_WITH_BASE_ONLY = r"""
import importlib, importlib.metadata as metadata, re, sys

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

def closure(names, seen):
    for name in map(plain, names):
        if name not in seen:
            seen.add(name)
            found = [r for r in metadata.requires(name) or [] if "extra ==" not in r]
            closure([re.match(r"[\w.-]+", r).group() for r in found], seen)
    return seen

base = closure(sys.argv[1].split(), set())
owners = metadata.packages_distributions()
tops = {top for top, dists in owners.items() if set(map(plain, dists)) & base}
allowed = tops | sys.stdlib_module_names | {"meta", "segments", "kql", "dataplane", "segplane"}

class OnlyBase:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed and not name.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"not in the base install: {name}", name=name)

sys.meta_path.insert(0, OnlyBase())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


# What the generated stubs need; KQL's translator is beside them in the base install.
CLIENT = ("grpcio", "protobuf", "googleapis-common-protos")


def names_of(requirements: list[str]) -> tuple[str, ...]:
    return tuple(re.split(r"[^\w-]", requirement)[0] for requirement in requirements)


def import_with_base_only(
    *modules: str, base: tuple[str, ...] = CLIENT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT_WITH_BASE_ONLY, " ".join(base), *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "modules",
    [STUBS, ["meta.client"], ["segplane.read"]],
    ids=["stubs", "client", "read"],
)
def test_base_install_is_enough(modules: list[str]) -> None:
    run = import_with_base_only(*modules)

    assert run.returncode == 0, run.stderr


def test_the_extra_of_readers_is_enough_to_read() -> None:
    extra = names_of(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["read"])

    run = import_with_base_only(
        "segplane.read.rows.arrow_source", "segplane.read.rows.conversion", "kql.sql", base=extra
    )

    assert run.returncode == 0, run.stderr


def test_the_check_sees_packages_outside_the_base_install() -> None:
    run = import_with_base_only("structlog")

    assert "not in the base install: structlog" in run.stderr
