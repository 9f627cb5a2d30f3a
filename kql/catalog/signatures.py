"""Functions and their signatures: the rows that the catalog is made of.

A signature is written `int long -> real: template`. Words before the arrow are parameters: a type,
`number`, `ordered`, `any`, or `T`, which all arguments of that word share. `const` means that the
argument is known before the query runs, `regex` that it is a regular expression, `?` that it may be
omitted, `...` that the last may be repeated, `...64` at most so often. The template is the name of an SQL pattern of each
engine, by default the function's own name; a rule of `kql.functions.calls` serves cases that no
signature describes. The words of its `taken` parameters are those of `kql.functions.arguments`: each
argument is converted, or refused in its own words.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Function:
    """A function; `rule` names the rule that types it if signatures do not."""

    name: str
    summary: str
    signatures: tuple[str, ...] = ()
    rule: str = ""
    # Parameters whose words convert, as a signature without alternatives.
    taken: str = ""
    is_aggregate: bool = False
    # now() and ago() differ from run to run: a projection's rows must not.
    is_row_by_row: bool = True


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature."""

    type: str
    is_constant: bool = False
    is_optional: bool = False
    is_repeated: bool = False
    # The most arguments of a repeated one; 0 = any number.
    most: int = 0


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of arguments, and of the result with its SQL pattern."""

    parameters: tuple[Parameter, ...]
    result: str
    template: str


@cache
def signature(text: str, name: str) -> Signature:
    """Read a signature of the table."""
    left, _, right = text.partition("->")
    result, _, template = (part.strip() for part in right.partition(":"))
    parameters, is_constant = [], False
    for word in left.split():
        if word == "const":
            is_constant = True
            continue
        bare, dots, most = word.partition("...")
        bare = bare.rstrip("?")
        is_known = is_constant or bare == "regex"
        parameters.append(Parameter(bare, is_known, "?" in word, bool(dots), int(most or 0)))
        is_constant = False
    return Signature(tuple(parameters), result, template or name)


def scalar(name: str, summary: str, *signatures: str) -> Function:
    """Return a function of values."""
    return Function(name, summary, signatures)


def ruled(
    name: str, summary: str, rule: str, taken: str = "", *, is_aggregate: bool = False
) -> Function:
    """Return a function whose type a rule says, of parameters that convert."""
    return Function(name, summary, rule=rule, taken=taken, is_aggregate=is_aggregate)


def taking(name: str, summary: str, taken: str, *, is_aggregate: bool = False) -> Function:
    """Return a function of parameters that convert, whose type is written behind them."""
    return Function(name, summary, taken=taken, is_aggregate=is_aggregate)


def aggregate(name: str, summary: str, *signatures: str) -> Function:
    """Return a function of the values of a group."""
    return Function(name, summary, signatures, is_aggregate=True)


def pair(name: str, summary: str, *signatures: str) -> tuple[Function, Function]:
    """Return an aggregate and the one that counts only rows for which a condition holds."""
    plain = tuple(s.format(name, "") for s in signatures)
    conditional = tuple(s.format(f"{name}if", "bool") for s in signatures)
    return (
        aggregate(name, summary, *plain),
        aggregate(
            f"{name}if", f"{summary}, of the rows for which the condition is true", *conditional
        ),
    )
