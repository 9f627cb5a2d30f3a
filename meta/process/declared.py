"""Settings that are declared at their fields: a default, bounds and a name."""

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar, cast

from meta.process.environment import Environment

T = TypeVar("T", str, bool, int, float)
Settings = TypeVar("Settings")
_KEY = "setting"


@dataclass(frozen=True, slots=True)
class _Declaration:
    name: str
    bounds: dict[str, float]


def setting(default: T, *, name: str = "", **bounds: float) -> T:
    """Declare a field that is read as text, true or false, a whole number or seconds.

    The type of the default says which of these. `name` is the setting's name without the prefix,
    that of the field by default; `low` and `high` bound a number.
    """
    declared: T = field(default=default, metadata={_KEY: _Declaration(name, bounds)})
    return declared


def read_declared(env: Environment, settings: type[Settings], **others: object) -> Settings:
    """Build `settings` from what its fields declare, and `others`. Raises ConfigError."""
    # A class of settings is a dataclass, of which mypy knows no common type.
    declared = fields(cast(Any, settings))
    values = {each.name: _read(env, each) for each in declared if _KEY in each.metadata}
    return cast(Callable[..., Settings], settings)(**values | others)


def _read(env: Environment, declared: "Field[Any]") -> str | bool | float:
    declaration: _Declaration = declared.metadata[_KEY]
    name, default = declaration.name or declared.name.upper(), declared.default
    if isinstance(default, str):
        return env.text(name, default)
    if isinstance(default, bool):
        return env.flag(name, default)
    bounds = declaration.bounds
    if isinstance(default, int):
        return env.integer(name, default, **{key: int(bound) for key, bound in bounds.items()})
    assert isinstance(default, float), name
    return env.seconds(name, default, **bounds)
