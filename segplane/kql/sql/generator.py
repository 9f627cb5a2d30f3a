"""sqlglot's generators, taught to write our patterns."""

import re
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from segplane.kql.errors import KqlError
from segplane.kql.sql.engines import ENGINES, EngineName

SQL_CHARACTERS_MAX = 200_000
_ARGUMENT = re.compile(r"<(\d+|\*)>")


class SqlPattern(exp.Expression):
    """An SQL pattern with arguments; `this` is its text."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


class Raw(exp.Expression):
    """A piece of SQL as it stands, of an engine's own: a constant of a time."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def _write(generator: Any, node: exp.Expression) -> str:
    arguments = [generator.sql(argument) for argument in node.expressions]

    def argument(match: re.Match[str]) -> str:
        return ", ".join(arguments) if match[1] == "*" else arguments[int(match[1])]

    text = _ARGUMENT.sub(argument, str(node.args["this"]))
    # Patterns name an argument more than once, so nested ones may double at every level.
    if len(text) > SQL_CHARACTERS_MAX:
        hint = f"at most {SQL_CHARACTERS_MAX:,} are written: compute parts of it with extend"
        raise KqlError(0, "an expression has too many characters in SQL", hint)
    return text


@cache
def _generator(engine: EngineName) -> Any:
    base = Dialect.get_or_raise(engine).generator_class
    transforms = {
        **base.TRANSFORMS,
        SqlPattern: _write,
        Raw: lambda _, node: str(node.args["this"]),
    }
    return type(f"{engine}Generator", (base,), {"TRANSFORMS": transforms})


def to_text(
    tree: exp.Expression | exp.Query, engine: EngineName, *, is_pretty: bool = False
) -> str:
    """Return the SQL text of a tree for an engine."""
    assert engine in ENGINES
    generator = _generator(engine)(
        dialect=Dialect.get_or_raise(engine), identify=True, pretty=is_pretty
    )
    text: str = generator.generate(tree)
    return text
