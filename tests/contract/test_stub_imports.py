"""The stubs and the client import with the base install alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUBS = sorted(f"meta.v1.{file.stem}" for file in (ROOT / "meta" / "v1").glob("*_pb2*.py"))

# Hides every installed package that the base dependencies do not bring, as if it were absent.
IMPORT_WITH_BASE_ONLY = """
import importlib, importlib.metadata as metadata, re, sys

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

def closure(names, seen):
    for name in map(plain, names):
        if name not in seen:
            seen.add(name)
            found = [r for r in metadata.requires(name) or [] if "extra ==" not in r]
            closure([re.match(r"[\\w.-]+", r).group() for r in found], seen)
    return seen

base = closure(["grpcio", "protobuf", "googleapis-common-protos"], set())
owners = metadata.packages_distributions()
tops = {top for top, dists in owners.items() if set(map(plain, dists)) & base}
allowed = tops | sys.stdlib_module_names | {"meta", "segments"}

class OnlyBase:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"not in the base install: {name}", name=name)

sys.meta_path.insert(0, OnlyBase())
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


def import_with_base_only(*modules: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT_WITH_BASE_ONLY, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("modules", [STUBS, ["meta.client"]], ids=["stubs", "client"])
def test_base_install_is_enough(modules: list[str]) -> None:
    run = import_with_base_only(*modules)

    assert run.returncode == 0, run.stderr


def test_the_check_sees_packages_outside_the_base_install() -> None:
    run = import_with_base_only("structlog")

    assert "not in the base install: structlog" in run.stderr
