"""The merge worker's settings, read once from MERGE_WORKER_* in the environment."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import gettempdir

from dataplane.settings import SparkProcessSettings, refuse_unsafe
from dataplane.worker_names import process_name
from meta.process.declared import read_declared, setting
from meta.process.environment import Environment
from meta.process.exits import ConfigError

MIB = 1024 * 1024
# The longest pause between polls, in first pauses.
PAUSES_MAX = 15


@dataclass(frozen=True, slots=True)
class Settings(SparkProcessSettings):
    """Settings of an operator; the defaults suit one machine of two cores."""

    # Name under which merge tasks are claimed; unique to this process by default.
    worker_id: str = field(default_factory=process_name, repr=False)
    # Pause after a poll that gave no task; doubles up to interval_secs_max while none comes.
    interval_secs: float = setting(1.0, low=0.01)
    # Longest pause between two polls.
    interval_secs_max: float = 15.0
    # Merge tasks worked on at once, each on one core; 0 = as many as there are cores.
    concurrent_tasks: int = setting(0, high=1_024)
    # Bytes of rows that one merge task buffers of all its inputs together, before decoding.
    buffer_bytes_max: int = setting(128 * MIB, low=MIB)
    # Folder for the output before it is uploaded, and for inputs that must be sorted again.
    work_dir: Path = field(default_factory=lambda: Path(gettempdir()))


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, Settings, worker_id=_worker_id(env), work_dir=_work_dir(env))
    settings = replace(settings, interval_secs_max=PAUSES_MAX * settings.interval_secs)
    refuse_unsafe(env, settings)
    return settings


def _worker_id(env: Environment) -> str:
    worker_id = env.text("WORKER_ID", process_name())
    if not worker_id or not worker_id.isprintable() or len(worker_id) > 255:
        raise ConfigError("MERGE_WORKER_WORKER_ID must have 1 to 255 printable characters")
    return worker_id


def _work_dir(env: Environment) -> Path:
    path = Path(env.text("WORK_DIR", gettempdir()))
    if not path.is_absolute() or not path.is_dir() or not os.access(path, os.W_OK):
        raise ConfigError(f"MERGE_WORKER_WORK_DIR {path} is not a writable, absolute folder")
    return path
