"""Processes of an installation, and the settings that they declare."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module

from meta.process.environment import Environment, SettingReading, settings_read
from meta.process.setting_names import COMMON, SHARED

Load = Callable[[Environment], object]


class Process(StrEnum):
    """A process with settings."""

    META = "meta"
    COLLECTOR = "collector"
    NURSERY = "nursery"
    MERGE_WORKER = "merge_worker"
    GATEWAY = "gateway"
    JANITOR = "janitor"

    @property
    def prefix(self) -> str:
        """Prefix of its variables."""
        return f"{self.value.upper()}_"

    @property
    def package(self) -> str:
        """Package that `python -m` runs."""
        return "segplane.gateway" if self is Process.GATEWAY else self.value

    @property
    def label(self) -> str:
        """Name in units, services of compose and accounts: words with hyphens."""
        return self.value.replace("_", "-")

    def load(self) -> Load:
        """Return the function that reads its settings and changes no file.

        Raises ModuleNotFoundError if its packages are not installed.
        """
        config = import_module(f"{self.package}.config")
        load: Load = config.read if self is Process.COLLECTOR else config.load
        return load

    def settings(self) -> Mapping[str, SettingReading]:
        """Return what it reads, by the names of docs/settings.md, with the defaults."""
        return {
            _common_name(self.prefix, name): reading
            for name, reading in settings_read(self.prefix, self.load()).items()
        }


def _common_name(prefix: str, name: str) -> str:
    shared_name = name.removeprefix(prefix)
    return COMMON + shared_name if shared_name in SHARED else name
