"""segplane config: the settings of each process, as its environment has them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

import click

from meta.process.environment import Environment, SettingReading, environment, settings_read
from meta.process.exits import ConfigError
from meta.process.setting_names import COMMON, COMMON_ONLY, RENAMED, find_problems
from segplane.cli.command import command, group
from segplane.cli.connection import EXIT_USAGE, usage
from segplane.cli.environment import profiles
from segplane.cli.environment.process_settings import installed_loads
from segplane.cli.output import Answer, table
from segplane.cli.parameters import Positional
from segplane.deploy.processes import Process

app = group()


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting in force and its source, as a row and as JSON."""

    setting: str
    value: str
    source: str


@command(app, "config show collector")
def show(process: Annotated[Process | None, Positional()] = None) -> Answer:
    """Show every setting in force in this environment with its source; secrets are hidden.

    A source is the default, a variable, an old name of the setting, or a file. Variables with the
    prefix of a process that are not settings are listed with the closest name. If a value is
    refused, the command says why, shows the other settings all the same, and exits with 2.

    Options:
        process: Show one process; default: all that are installed.
    """
    loads = installed_loads([process] if process else list(Process))
    if not loads:
        raise usage(f"the packages of {process} are not installed here")
    rows: list[Shown] = []
    setting_names: set[str] = set()
    refusals: list[str] = []
    for each, load in loads.items():
        env, settings = environment(each.prefix), settings_read(each.prefix, load)
        setting_names |= settings.keys()
        try:
            load(env)
        except ConfigError as error:
            refusals.append(str(error))
            _read_others(env, settings)
        rows += [Shown(name, r.shown, _source(r)) for name, r in env.readings.items()]
    rows += _of_command_line() if process is None else []
    values = environment("").values
    problems = list(find_problems(values, [each.prefix for each in loads], setting_names))
    unique = list({row.setting: row for row in rows}.values())
    return Answer(
        {"settings": unique, "problems": problems, "refusals": refusals},
        table(("setting", "value", "source"), [(r.setting, r.value, r.source) for r in unique]),
        [
            *(f"warning: {problem.text}" for problem in problems),
            *(f"error: {' '.join(refusal.split())}" for refusal in refusals),
        ],
        EXIT_USAGE if refusals else 0,
    )


def _read_others(env: Environment, settings: Mapping[str, SettingReading]) -> None:
    """Read the settings that a refused one came before, and skip files that are not there."""
    for name in settings.keys() - env.readings.keys():
        prefix = env.prefix if name.startswith(env.prefix) else COMMON
        default, is_secret = settings[name].default, settings[name].is_secret
        with suppress(ConfigError):
            replace(env, prefix=prefix).text(
                name.removeprefix(prefix), default, is_secret=is_secret
            )


def _of_command_line() -> list[Shown]:
    """The settings of commands that are set, and those of the profile in force.

    `segplane COMMAND --help` has the defaults.
    """
    env = environment(COMMON)
    for name in sorted(COMMON_ONLY):
        if env.is_set(name):
            with suppress(ConfigError):
                env.text(name, is_secret=name.endswith("_TOKEN"))
    rows = [Shown(name, reading.shown, _source(reading)) for name, reading in env.readings.items()]
    try:
        profile = profiles.load(click.get_current_context().find_root().params["profile"] or "")
    except profiles.ProfileError as error:
        raise usage(str(error)) from None
    if profile is not None:
        source = f"profile {profile.name} of {profile.path}"
        rows += [Shown(*each, source) for each in profiles.in_force(profile).items()]
    return rows


def _source(reading: SettingReading) -> str:
    if not reading.variable:
        return "default"
    if reading.file:
        return f"file {reading.file} ({reading.variable})"
    return f"{'old name ' if reading.variable in RENAMED.values() else ''}{reading.variable}"
