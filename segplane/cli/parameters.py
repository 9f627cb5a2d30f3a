"""Options and arguments of commands, as annotations of a function's parameters say them."""

import inspect
from collections.abc import Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click


class Option:
    """Names, help and bounds of an option; what is not given follows from the parameter.

    `names_of` is the noun whose names shells complete; parameters called `dataset` need none.
    """

    kind: type[click.Parameter] = click.Option

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        envvar: str | Sequence[str] | None = None,
        min: float | None = None,
        max: float | None = None,
        names_of: str = "",
    ) -> None:
        self.names, self.help, self.metavar, self.envvar = names, help, metavar, envvar
        self.names_of = names_of
        self.bounds = {} if min is max is None else {"min": min, "max": max}


class Positional(Option):
    """Metavar, help and bounds of an argument."""

    kind = click.Argument


class _Choice(click.Choice[str]):
    """A member of an enumeration, by its value."""

    def __init__(self, members: type[Enum]) -> None:
        super().__init__([str(member.value) for member in members])
        self._members = members

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the member; one that is a default already is taken as it is."""
        if isinstance(value, self._members):
            return value
        return self._members(super().convert(value, param, ctx))


def click_parameter(parameter: inspect.Parameter, help_: str | None) -> click.Parameter:
    """Return the option or argument of a parameter; without a default it is required."""
    type_, given = parameter.annotation, None
    if get_origin(type_) is Annotated:
        type_, given = get_args(type_)
    is_required = parameter.default is parameter.empty
    given = given or (Positional() if is_required else Option())
    if get_origin(type_) in (Union, UnionType):
        type_ = next(t for t in get_args(type_) if t is not NoneType)
    is_list = get_origin(type_) is list
    type_ = get_args(type_)[0] if is_list else type_
    attributes: dict[str, Any] = {
        "default": None if is_required else parameter.default,
        "required": is_required,
        "help": help_ or given.help,
        "metavar": given.metavar,
        "envvar": given.envvar,
        "type": _type(type_, given.bounds),
    }
    if noun := given.names_of or ("datasets" if parameter.name == "dataset" else ""):
        attributes["shell_complete"] = partial(_names_that_begin, noun)
    if given.kind is click.Argument:
        attributes["nargs"] = -1 if is_list else 1
        return click.Argument([parameter.name], **attributes)
    attributes |= {"multiple": is_list, "show_envvar": True, "show_default": True}
    if type_ is bool:
        attributes["is_flag"] = True
    return click.Option([*(given.names or _names(parameter, type_)), parameter.name], **attributes)


def _names_that_begin(
    noun: str, context: click.Context, _: click.Parameter, begin: str
) -> list[str]:
    # Commands have no need of it.
    from segplane.cli.environment.completion import names_that_begin

    return names_that_begin(noun, context, begin)


def _names(parameter: inspect.Parameter, type_: object) -> tuple[str, ...]:
    """Name an option; a flag has a negative form only if it may also be omitted."""
    name = parameter.name.replace("_", "-")
    return (
        f"--{name}/--no-{name}" if type_ is bool and parameter.default is None else f"--{name}",
    )


def _type(type_: Any, bounds: dict[str, Any]) -> click.ParamType[Any]:
    if get_origin(type_) is Literal:
        return click.Choice(get_args(type_))
    if issubclass(type_, Enum):
        return _Choice(type_)
    if bounds:
        return click.IntRange(**bounds) if type_ is int else click.FloatRange(**bounds)
    return click.Path(path_type=Path) if type_ is Path else click.types.convert_type(type_)
