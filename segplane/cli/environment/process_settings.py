"""Settings of the processes: their loaders, and a check before a stack is started."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from click.exceptions import Exit

from dataplane.settings import SparkProcessSettings
from dataplane.task_runner import check_prerequisites
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segments.errors import RunnerUnusable
from segplane.cli.connection import EXIT_USAGE, complain
from segplane.deploy.processes import Load, Process
from segplane.stack import config, defaults
from segplane.stack.config import PIPELINE, StackSettings

# The embedded server listens on a socket, whose folder is known once it runs.
_EMBEDDED_URL = "postgresql://segplane@/segplane?host=%2Fembedded"


def require_valid(settings: StackSettings, parts: Sequence[str]) -> None:
    """End with exit code 2 and all refusals of the settings of meta and of `parts`.

    A stack asks before it makes a folder or a database. Processes whose packages are not
    installed are skipped.
    """
    # A port of 0 is chosen at the start.
    settings = replace(settings, meta_port=settings.meta_port or defaults.META_PORT)
    # A setting that several processes share is refused with one text.
    names = chain.from_iterable(config.APART if p == PIPELINE else (p,) for p in parts)
    processes = [Process.META, *map(Process, names)]
    refusals = dict.fromkeys(_refusals(settings, processes))
    for refusal in refusals:
        complain(refusal)
    if refusals:
        raise Exit(EXIT_USAGE)


def _refusals(settings: StackSettings, processes: Sequence[Process]) -> Iterator[str]:
    try:
        config.check_tls(settings)
    except ConfigError as error:
        yield str(error)
    for process, load in installed_loads(processes).items():
        try:
            loaded = load(Environment(process.prefix, _environment(settings, process)))
            if isinstance(loaded, SparkProcessSettings):
                check_prerequisites(loaded.spark(process))
        except (ConfigError, RunnerUnusable) as error:
            yield str(error)


def _environment(settings: StackSettings, process: Process) -> Mapping[str, str]:
    if process is Process.META:
        return config.meta_environment(settings, settings.database_url or _EMBEDDED_URL)
    return config.environment_of(settings, process)


def installed_loads(processes: Sequence[Process]) -> Mapping[Process, Load]:
    """Those of the processes whose packages are installed."""
    loads = {}
    for process in processes:
        # The `cli` extra does not install the servers' side of every process.
        with suppress(ModuleNotFoundError):
            loads[process] = process.load()
    return loads
