"""Imports with the `cli` extra alone: every command except those that run processes."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

# Packages that only the other extras bring, and Arrow, which takes a third of a command's start.
ABSENT = (
    "pyarrow",
    "numpy",
    "pyspark",
    "sqlalchemy",
    "psycopg",
    "alembic",
    "opentelemetry.sdk",
    "grpc_health",
)
BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {absent}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.argv = ["segplane", *{arguments}]
from segplane.__main__ import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["datasets", "list", "--meta-address", "127.0.0.1:1"], 3),
        (["fsck", "--meta-address", "127.0.0.1:1"], 3),
    ],
)
def test_a_light_install_has_the_command_line(arguments: list[str], code: int) -> None:
    source = BLOCKED.format(absent=set(ABSENT), arguments=arguments)

    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_no_process_starts_with_pandas_although_it_is_installed() -> None:
    source = """
import sys
import janitor.__main__, merge_worker.__main__, nursery.__main__, segplane.gateway.__main__
sys.exit("pandas" in sys.modules)
"""

    assert find_spec("pandas")
    subprocess.run([sys.executable, "-c", source], check=True)
