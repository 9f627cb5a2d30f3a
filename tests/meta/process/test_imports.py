"""Modules that processes do not load at their start."""

import subprocess
import sys

import pytest


@pytest.mark.long
def test_no_process_imports_rich_and_who_needs_it_still_can() -> None:
    source = """
import sys
import collector.__main__, meta.__main__, nursery.__main__
import janitor.__main__, merge_worker.__main__, segplane.gateway.__main__
assert not [name for name in sys.modules if name.partition(".")[0] == "rich"]
from rich.console import Console
"""

    subprocess.run([sys.executable, "-P", "-c", source], check=True)


@pytest.mark.long
def test_meta_imports_no_numpy_before_a_dataset_has_deduplication() -> None:
    source = "import sys, meta.__main__; assert 'numpy' not in sys.modules"

    subprocess.run([sys.executable, "-P", "-c", source], check=True)


def test_a_gateway_starts_without_packages_of_meta() -> None:
    source = """
import sys
sys.modules |= dict.fromkeys(("sqlalchemy", "psycopg", "alembic", "jwt"))
import segplane.gateway.__main__, segplane.gateway.app
"""

    subprocess.run([sys.executable, "-P", "-c", source], check=True)
