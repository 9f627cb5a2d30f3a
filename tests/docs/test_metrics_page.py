"""docs/metrics.md is what the definitions say, and what each process exports."""

import re
import subprocess
import sys
from collections.abc import Iterable

import pytest

from meta.metrics import REGISTRIES
from tests.docs.metrics_page import DOCS, names_on, page

PAGE = DOCS / "metrics.md"
# Imports of the main module of each process, made in the process.
PROCESSES = {
    "meta": ("meta", ["meta"]),
    "collector": ("collector", ["collector"]),
    "nursery": ("nursery", ["nursery"]),
    "merge_worker": ("merge_worker", ["merge_worker"]),
    "janitor": ("janitor", ["janitor"]),
    "gateway": ("segplane.gateway", ["gateway"]),
    "pipeline": ("segplane.stack.pipeline", ["nursery", "merge_worker"]),
}
PROGRAM = """
import importlib, sys
main, service = sys.argv[1:]
importlib.import_module(main)
from meta.process.observability import configure_logging
from prometheus_client import generate_latest
configure_logging(service)
sys.stdout.buffer.write(generate_latest())
"""


def test_the_page_is_generated() -> None:
    text = PAGE.read_text()

    assert text == page(text), "docs/metrics.md is stale: run make gen"


def test_help_texts_say_what_a_rise_or_another_state_means() -> None:
    for registry in REGISTRIES.values():
        for family in registry.collect():
            # A sentence on the value, then a state and, after a colon, its meaning.
            assert re.search(r"\. [A-Z][^:]+: \w", family.documentation), family.name


@pytest.mark.parametrize("service", PROCESSES)
def test_a_process_exports_the_metrics_of_the_page_and_no_others(service: str) -> None:
    package, tables = PROCESSES[service]
    main = package if package.endswith("pipeline") else f"{package}.__main__"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, main, service],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    on_page = names_on(PAGE.read_text())
    assert _exported(ended.stdout) == _joined(
        on_page[name] for name in (*tables, "every", "library")
    )


def _exported(exposition: str) -> set[str]:
    names = re.findall(r"^# TYPE (\w+) ", exposition, re.MULTILINE)
    return {name for name in names if not name.endswith("_created")}


def _joined(sets: Iterable[set[str]]) -> set[str]:
    return set().union(*sets)
