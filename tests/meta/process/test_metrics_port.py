"""The metrics port of each process."""

import re
import subprocess
import sys

import pytest

import nursery.metrics  # noqa: F401 - fills its registry
from meta import metrics

PROGRAM = """
import sys
import nursery.metrics
from meta import metrics
from meta.process.observability import configure_logging
from prometheus_client import generate_latest
configure_logging(sys.argv[1])
sys.stdout.buffer.write(generate_latest())
"""
REGISTRIES = {
    "meta": metrics.META,
    "collector": metrics.COLLECTOR,
    "nursery": metrics.NURSERY,
    "merge_worker": metrics.MERGE_WORKER,
    "janitor": metrics.JANITOR,
}


def names_in(exposition: str) -> set[str]:
    names = {line.split()[2] for line in exposition.splitlines() if line.startswith("# HELP seg")}
    return {name for name in names if not name.endswith("_created")}


@pytest.mark.parametrize("service", REGISTRIES)
def test_a_process_exposes_its_own_metrics_only(service: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, service],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    names = {name.removesuffix("_total") for name in names_in(ended.stdout)}
    assert names == {family.name for family in REGISTRIES[service].collect()}


def test_the_pipeline_exposes_the_metrics_of_both_its_services() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, "pipeline"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    names = {name.removesuffix("_total") for name in names_in(ended.stdout)}
    both = (*metrics.NURSERY.collect(), *metrics.MERGE_WORKER.collect())
    assert names == {family.name for family in both}
    assert ended.stdout.count("# HELP segplane_clock_skew_seconds") == 1


def test_help_texts_say_what_a_rise_or_another_state_means() -> None:
    for registry in REGISTRIES.values():
        for family in registry.collect():
            # A sentence on the value, then a state and, after a colon, its meaning.
            assert re.search(r"\. [A-Z][^:]+: \w", family.documentation), family.name
