"""Wheels in their own environments: beside pyjanitor, on each Python that this machine has."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from meta.v1 import catalog_pb2
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.wheels import ROOT, Wheels, build_wheels

pytestmark = pytest.mark.slow
UV = Path(sys.executable).with_name("uv")
LOCKS = ROOT / "requirements"
# A notebook: pyjanitor's names are its own, ours are below segplane and meta.
NOTEBOOK = """
import json, sys
import janitor
import pandas
import meta.client, segplane.kql.sql, segplane.read.rows.arrow_source, segplane.segments.store.open
from importlib.util import find_spec
cleaned = pandas.DataFrame({"A b": [1]}).clean_names()
print(json.dumps({
    "python": list(sys.version_info[:2]),
    "columns": list(cleaned.columns),
    "janitor": janitor.__file__,
    "segments": find_spec("segments") is not None,
    "nursery": find_spec("nursery") is not None,
}))
"""
# What readers do not need: the processes' libraries, Spark, and the engines that they may choose.
READER = """
import json, sys
from importlib.util import find_spec
from segplane.read import open_dataset
with open_dataset(sys.argv[1], "logs", fresh=True, meta_address=sys.argv[2]) as opened:
    bodies = opened.to_table().column("body").to_pylist()
others = ["nursery", "pyspark", "structlog", "sqlalchemy", "duckdb", "numpy"]
print(json.dumps({"bodies": sorted(bodies), "others": [*filter(find_spec, others)]}))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


def python_of(minor: int) -> str:
    """A Python 3.`minor` of this machine; skips without."""
    name = f"python3.{minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(name), *sorted(map(str, pyenv.glob(f"versions/3.{minor}.*/bin/{name}")))]
    for python in filter(None, found):
        if subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0:
            return python
    pytest.skip(f"this machine has no {name}")


def environment(folder: Path, python: str, lock: str, *wheels: Path) -> Path:
    """A clean environment with a lock file's packages and wheels; returns its interpreter."""
    interpreter = folder / "bin" / "python"
    run(UV, "venv", "--quiet", "--python", python, folder)
    install = (UV, "pip", "install", "--quiet", "--python", interpreter)
    run(*install, "--require-hashes", "-r", LOCKS / lock)
    run(*install, "--no-deps", "--offline", *wheels)
    run(UV, "pip", "check", "--python", interpreter)
    return interpreter


def run(*command: object) -> str:
    """Run a command outside the tree; returns its output."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd="/", env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("minor", [11, 12, 13], ids=lambda minor: f"python3.{minor}")
def test_a_notebook_with_pyjanitor_keeps_its_names(
    wheels: Wheels, tmp_path: Path, minor: int
) -> None:
    python = python_of(minor)

    notebook = environment(tmp_path / "env", python, "notebook.lock", wheels.segplane)

    facts = json.loads(run(notebook, "-c", NOTEBOOK))
    assert facts.pop("janitor").endswith("site-packages/janitor/__init__.py")
    assert facts == {
        "python": [3, minor],
        "columns": ["a_b"],
        "segments": False,
        "nursery": False,
    }


@pytest.mark.parametrize("minor", [11, 12, 13], ids=lambda minor: f"python3.{minor}")
def test_the_read_extra_alone_reads_merged_and_fresh_records(
    wheels: Wheels, tmp_path: Path, meta_server: MetaServer, minor: int
) -> None:
    client = meta_server.client
    Path("/", meta_server.settings.location.path).mkdir()
    collector = CollectorDriver(client, dataset(client))
    collector.send("merged")
    nursery(client).cycle()
    collector.send("fresh")
    name = client.catalog.GetDataset(
        catalog_pb2.GetDatasetRequest(id=collector.dataset_id)
    ).name  # fmt: skip
    reader = tmp_path / "env" / "bin" / "python"
    run(UV, "venv", "--quiet", "--python", python_of(minor), tmp_path / "env")
    requirement = f"segplane[read] @ {wheels.segplane.as_uri()}"
    install = (UV, "pip", "install", "--quiet", "--python", reader)
    run(*install, "--constraint", LOCKS / "all.lock", requirement)

    read = json.loads(run(reader, "-c", READER, name, meta_server.address))

    assert read == {"bodies": ["fresh", "merged"], "others": []}


def test_the_processes_run_from_wheels(wheels: Wheels, tmp_path: Path) -> None:
    python = environment(
        tmp_path / "env", sys.executable, "all.lock", wheels.segplane, wheels.segplane_server
    )
    segplane = python.with_name("segplane")

    run(segplane, "demo")
    archive = tmp_path / "segplane-env.tar.gz"
    packed = run(segplane, "spark-env", "--output", archive).splitlines()

    assert [line for line in packed if line.startswith("segplane")] == [
        "segplane 0.4.0.dev0",
        "segplane-server 0.4.0.dev0",
    ]
