"""The archive for executors holds what tasks import, and nothing of this machine."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from segplane.cli import spark_archive
from segplane.stack.preflight import NotReady

# What the two jobs run in an executor, without Spark's own packages.
IMPORTS = """
import sys
sys.path.append(sys.argv[1])
import merge_worker.scratch, merge_worker.tasks, nursery.execution.execute
import segments.merging.merge, segments.store.open
from importlib.metadata import version
from segments.location import StoreLocation
from segments.store.open import open_store
open_store(StoreLocation.from_url("s3://bucket?endpoint=http://127.0.0.1:1"))
print(version("segplane"), version("pyarrow"))
"""


@pytest.mark.slow
def test_a_python_without_packages_runs_our_tasks_from_the_archive(tmp_path: Path) -> None:
    output = tmp_path / "env.tar.gz"

    done = CliRunner().invoke(app, ["spark-env", "--output", str(output)])

    assert done.exit_code == 0, done.output
    assert f"spark.archives={output}#segplane-env" in done.stdout
    with tarfile.open(output) as archive:
        archive.extractall(tmp_path / "env", filter="data")
        names = archive.getnames()
    ran = subprocess.run(
        # -I and -S: neither this environment's packages nor the working folder.
        [sys.executable, "-I", "-S", "-c", IMPORTS, str(tmp_path / "env")],
        capture_output=True,
        text=True,
        env={"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
    )
    assert ran.returncode == 0, ran.stderr
    versions = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line}
    assert ran.stdout.split() == [versions["segplane"], versions["pyarrow"]]
    assert not [n for n in names if n.startswith(("/", "..", "pyspark/")) or "direct_url" in n]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".env")] == []


def test_a_folder_that_is_not_there_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"cannot write .*absent"):
        spark_archive.build(tmp_path / "absent" / "env.tar.gz")
