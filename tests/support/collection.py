"""Test modules, imported by the workers of pytest-xdist, and the cases of tables that they run."""

import importlib
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import pytest


def import_share(config: pytest.Config) -> None:
    """Import a worker's share of the modules that it is about to collect, before the others.

    Each worker collects all modules. In a fresh checkout pytest first rewrites their assertions,
    28 s of CPU, and keeps the result beside the module; so each worker finds the shares of the
    others done. Without workers nothing is imported here.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    for name in _modules(config)[number % count :: count]:
        # An error, or a module that is skipped, is reported by the collection.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def leave_out_cases(items: Iterable[pytest.Item]) -> None:
    """Mark cases of tests with `sampled(every)` as `long`, but for the first of every so many."""
    seen: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is not None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % marker.args[0]:
                item.add_marker(pytest.mark.long)
            seen[test] += 1


def _modules(config: pytest.Config) -> list[str]:
    """The names of all test modules below the folders and files that the run was given."""
    given = [config.rootpath / argument.partition("::")[0] for argument in config.args]
    paths = {path for each in given for path in (each.rglob("test_*.py") if each.is_dir() else ())}
    names = (path.relative_to(config.rootpath).with_suffix("") for path in paths)
    return sorted(".".join(name.parts) for name in names)
