"""Settings from the environment."""

from pathlib import Path

import pytest

from merge_worker.config import load
from meta.process.environment import Environment
from meta.process.exits import ConfigError


def read(**values: str) -> object:
    return load(Environment("MERGE_WORKER_", {f"MERGE_WORKER_{k}": v for k, v in values.items()}))


def test_every_setting_has_a_default_and_worker_ids_differ() -> None:
    assert read() != read()
    assert read(WORKER_ID="w") == read(WORKER_ID="w")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OBJECT_STORE_URL", "ftp://x"),
        ("CONCURRENT_TASKS", "-1"),
        ("WORKER_ID", ""),
        ("WORK_DIR", "/no/such/folder"),
        ("WORK_DIR", "relative"),
        ("BUFFER_BYTES_MAX", "1"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_full_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"MERGE_WORKER_{name}"):
        read(**{name: value})


def test_a_work_dir_may_be_given(tmp_path: Path) -> None:
    assert read(WORK_DIR=str(tmp_path), WORKER_ID="w") != read(WORKER_ID="w")
