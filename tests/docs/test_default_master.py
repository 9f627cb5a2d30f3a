"""Pages that name the default Spark master name that of the code."""

import re

import pytest

from dataplane.settings import SparkProcessSettings
from dataplane.task_runner import slots_of, usable_cores
from tests.docs.pages import ROOT

_DEFAULT = re.compile(r"`SEGPLANE_SPARK_MASTER` is `([^`]+)` by\s+default")
PAGES = ("README.md", "docs/spark.md", "docs/data-plane.md", "docs/operations.md")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_the_default_master_of_the_code(page: str) -> None:
    named = _DEFAULT.findall((ROOT / page).read_text())

    assert named == [SparkProcessSettings().spark_master]


def test_the_default_master_is_spark_on_all_cores() -> None:
    settings = SparkProcessSettings().spark("test")

    assert settings.is_local
    assert slots_of(settings) == usable_cores()
