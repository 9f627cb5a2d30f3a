"""The janitor's settings, read once from JANITOR_* in the environment."""

from dataclasses import dataclass

from meta.process import Environment
from segplane.dataplane.settings import ProcessSettings, process_values, refuse_unsafe

SCRUB_RATE_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class Settings(ProcessSettings):
    """Settings of an operator; docs/object-stores.md explains the ages."""

    # Pause between two rounds of merge planning.
    merge_interval_secs: float = 10.0
    # Pause between two rounds of deleting tombstoned segments' objects.
    deletion_interval_secs: float = 30.0
    # Pause between two sweeps for orphans; each lists the whole store.
    orphan_interval_secs: float = 3_600.0
    # Pause between two rounds of aborting unfinished writes.
    upload_interval_secs: float = 3_600.0
    # Writes that were begun longer ago and are not finished are aborted.
    upload_max_age_secs: float = 86_400.0
    # Bytes of stored objects that are read a second, to find damage; 0 = none.
    scrub_bytes_per_sec: int = 4_194_304
    # Shortest time between the starts of two passes over all objects.
    scrub_pass_secs: float = 86_400.0
    # Pause between two pieces of a pass.
    scrub_interval_secs: float = 1.0
    # Pause between two rounds of reading footers of segments whose content meta does not know.
    footer_interval_secs: float = 30.0
    # Pause between two measurements of the clocks of this process and of the store.
    clock_interval_secs: float = 60.0


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    default = Settings()

    def interval(name: str, secs: float) -> float:
        return env.seconds(name, secs, low=0.01)

    settings = Settings(
        **process_values(env),
        merge_interval_secs=interval("MERGE_INTERVAL_SECS", default.merge_interval_secs),
        deletion_interval_secs=interval("DELETION_INTERVAL_SECS", default.deletion_interval_secs),
        orphan_interval_secs=interval("ORPHAN_INTERVAL_SECS", default.orphan_interval_secs),
        upload_interval_secs=interval("UPLOAD_INTERVAL_SECS", default.upload_interval_secs),
        upload_max_age_secs=env.seconds("UPLOAD_MAX_AGE_SECS", default.upload_max_age_secs),
        scrub_bytes_per_sec=env.integer(
            "SCRUB_BYTES_PER_SEC", default.scrub_bytes_per_sec, low=0, high=SCRUB_RATE_MAX
        ),
        scrub_pass_secs=env.seconds("SCRUB_PASS_SECS", default.scrub_pass_secs),
        scrub_interval_secs=interval("SCRUB_INTERVAL_SECS", default.scrub_interval_secs),
        footer_interval_secs=interval("FOOTER_INTERVAL_SECS", default.footer_interval_secs),
        clock_interval_secs=interval("CLOCK_INTERVAL_SECS", default.clock_interval_secs),
    )
    refuse_unsafe(env, settings)
    return settings
