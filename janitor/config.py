"""The janitor's settings, read once from JANITOR_* in the environment."""

from dataclasses import dataclass

from dataplane.settings import ProcessSettings, refuse_unsafe
from meta.process.declared import read_declared, setting
from meta.process.environment import Environment

SCRUB_RATE_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class Settings(ProcessSettings):
    """Settings of an operator; docs/object-stores.md explains the ages."""

    # Pause between two rounds of merge planning.
    merge_interval_secs: float = setting(10.0, low=0.01)
    # Pause between two rounds of deleting tombstoned segments' objects.
    deletion_interval_secs: float = setting(30.0, low=0.01)
    # Pause between two looks for vacuums that operators have requested.
    vacuum_interval_secs: float = 5.0
    # Pause between two sweeps for orphans; each lists the whole store.
    orphan_interval_secs: float = setting(3_600.0, low=0.01)
    # Pause between two rounds of aborting unfinished writes.
    upload_interval_secs: float = 3_600.0
    # Writes that were begun longer ago and are not finished are aborted.
    upload_max_age_secs: float = 86_400.0
    # Bytes of stored objects that are read a second, to find damage; 0 = none.
    scrub_bytes_per_sec: int = setting(4_194_304, high=SCRUB_RATE_MAX)
    # Shortest time between the starts of two passes over all objects.
    scrub_pass_secs: float = setting(86_400.0)
    # Pause between two pieces of a pass.
    scrub_interval_secs: float = 1.0
    # Pause between two rounds of reading footers of segments whose content meta does not know.
    footer_interval_secs: float = 30.0
    # Pause between two measurements of the clocks of this process and of the store.
    clock_interval_secs: float = 60.0


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, Settings)
    refuse_unsafe(env, settings)
    return settings
