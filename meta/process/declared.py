"""Settings that are declared at their fields: a default, bounds and a name."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar, cast

from meta.process.environment import Environment

T = TypeVar("T", str, bool, int, float)
Value = TypeVar("Value")
Settings = TypeVar("Settings")
_KEY = "setting"


@dataclass(frozen=True, slots=True)
class _Declaration:
    name: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)
    read: Callable[[Environment], object] | None = None


def setting(default: T, *, name: str = "", **bounds: float) -> T:
    """Declare a field that is read as text, true or false, a whole number or seconds.

    The type of the default says which of these. `name` is the setting's name without the prefix,
    that of the field by default; `low` and `high` bound a number.
    """
    declared: T = field(default=default, metadata={_KEY: _Declaration(name, bounds)})
    return declared


def setting_read(
    default: Value, read: Callable[[Environment], Value], *, is_shown: bool = True
) -> Value:
    """Declare a field that a function reads; `default` is of settings that are not read."""
    metadata = {_KEY: _Declaration(read=read)}
    declared: Value = field(default=default, metadata=metadata, repr=is_shown)
    return declared


def read_declared(env: Environment, settings: type[Settings], **others: object) -> Settings:
    """Build `settings` from what its fields declare, and `others`. Raises ConfigError."""
    # A class of settings is a dataclass, of which mypy knows no common type.
    declared = fields(cast(Any, settings))
    values = {each.name: _read(env, each) for each in declared if _KEY in each.metadata}
    return cast(Callable[..., Settings], settings)(**values | others)


def _read(env: Environment, declared: "Field[Any]") -> object:
    declaration: _Declaration = declared.metadata[_KEY]
    if declaration.read is not None:
        return declaration.read(env)
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
