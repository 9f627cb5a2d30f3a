"""pytest plugin that records the lines of our areas that each passing test runs.

Loaded by `-p tests.support.mutation.recording`, in a copy of the tree. Appends a line of JSON for
each test to the file that MUTATION_RECORDS names and skips the tests that it has, so that
a run that was interrupted goes on.
"""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mutation.narrow import AREAS

# Coverage is installed beside Cosmic Ray. Its folder comes last, so that it hides nothing of ours.
sys.path.append(os.environ["MUTATION_PACKAGES"])

from coverage import Coverage  # type: ignore[import-not-found]


class Recording:
    """Writes lines and seconds of each test that passes."""

    def __init__(self, tree: Path, records: Path) -> None:
        self._tree = tree
        self._records = records
        folders = [str(tree / area) for area in AREAS]
        self._coverage: Any = Coverage(data_file=None, config_file=False, source=folders)
        self._coverage.start()
        self._secs = 0.0
        self._is_passed = True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip what an earlier run recorded."""
        known = set()
        if self._records.exists():
            known = {json.loads(line)["test"] for line in self._records.open()}
        items[:] = [item for item in items if item.nodeid not in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run a test in its own context."""
        self._secs = 0.0
        self._is_passed = True
        self._coverage.switch_context(item.nodeid)
        result = yield
        record = {
            "test": item.nodeid,
            "passed": self._is_passed,
            "secs": round(self._secs, 3),
            "lines": self._lines(item.nodeid),
        }
        with self._records.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        self._secs += report.duration
        self._is_passed &= report.passed

    def _lines(self, context: str) -> dict[str, list[int]]:
        data = self._coverage.get_data()
        data.set_query_context(context)
        lines = {path: data.lines(path) for path in data.measured_files()}
        return {
            str(Path(path).relative_to(self._tree)): sorted(at) for path, at in lines.items() if at
        }


def pytest_configure(config: pytest.Config) -> None:
    """Register the recording of this session."""
    recording = Recording(config.rootpath, Path(os.environ["MUTATION_RECORDS"]))
    config.pluginmanager.register(recording)
