"""Rules over texts: searches, counts, repetitions, replacements and encodings."""

import json
from collections.abc import Callable

from kql.functions.arguments import Arguments, constant_text, constant_whole, need, pattern
from kql.functions.arithmetic import convert, or_empty, text
from kql.regex import escape
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression
from kql.types import KqlType

REPETITIONS_MAX = 1_024
REPLACEMENTS_MAX = 64
# Signs that stand for a replacement until all are found: the last private plane of Unicode.
_MARKS_FROM = 0x10F000


def _as_text(name: str, argument: Argument) -> Expression:
    return text(argument.value, argument.offset, name)


def _call(name: str, template: str, type_: KqlType, *arguments: Expression) -> Apply:
    return Apply(template, arguments, type_, 0, name)


def _whole(number: int) -> Constant:
    return Constant(number, "long")


def _indexof(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 5)
    subject = _as_text(name, arguments[0])
    if name == "indexof":
        lookup = _as_text(name, arguments[1])
    else:
        written = constant_text(arguments[1])
        pattern(written, arguments[1])
        # The text before the first match; a dot matches no line's end.
        before = pattern(rf"\A((?:.|\n)*?)(?:{written})", arguments[1])
    start = constant_whole(arguments[2], -(10**9), 10**9) if len(arguments) > 2 else 0
    length = constant_whole(arguments[3], -1, 10**9) if len(arguments) > 3 else -1
    if len(arguments) > 4 and constant_whole(arguments[4], 1, 10**9) != 1:
        arguments[4].fail("only the first occurrence is looked for", "leave the argument out")
    if name == "indexof_regex" and start < 0:
        return Constant(None, "long")
    searched: Expression = subject
    if length >= 0:
        searched = _call(name, "substring_of", "string", subject, _whole(start), _whole(length))
    elif start:
        searched = _call(name, "substring", "string", subject, _whole(start))
    if name == "indexof":
        place: Expression = _call(name, "position", "long", searched, lookup)
    else:
        is_match = _call(name, "match", "bool", searched, before)
        head = _call(name, "extract", "string", before, _whole(1), searched)
        after = _call(name, "add", "long", _call(name, "strlen", "long", head), _whole(1))
        place = Choice(((is_match, after),), _whole(0), "long")
    shift: Expression = _whole(start - 1)
    if start < 0:
        end = _call(name, "add", "long", _call(name, "strlen", "long", subject), _whole(start))
        at_least = _call(name, "greatest", "long", end, _whole(0))
        shift = _call(name, "subtract", "long", at_least, _whole(1))
    is_absent = _call(name, "eq", "bool", place, _whole(0))
    return Choice(((is_absent, _whole(-1)),), _call(name, "add", "long", place, shift), "long")


def _countof(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 3)
    subject, search = _as_text(name, arguments[0]), constant_text(arguments[1])
    kind = constant_text(arguments[2]) if len(arguments) == 3 else "normal"
    if kind not in ("normal", "regex"):
        arguments[2].fail(f"there is no kind {kind[:40]!r}", "write 'normal' or 'regex'")
    if not search:
        arguments[1].fail("an empty text is found everywhere", "write at least one character")
    if kind == "regex":
        return _call(name, "count_matches", "long", subject, pattern(search, arguments[1]))
    shifts = [n for n in range(1, len(search)) if search[n:] == search[: len(search) - n]]
    if any(shift % shifts[0] for shift in shifts):
        arguments[1].fail("this text overlaps itself in several ways", "count with kind 'regex'")
    if not shifts:
        return _difference(name, subject, Constant(search, "string"), len(search))
    # Matches that overlap are a run: a match, and its end again for each further one.
    run = pattern(f"{escape(search)}(?:{escape(search[-shifts[0] :])})*", arguments[1])
    runs = _call(name, "count_matches", "long", subject, run)
    longer = _call(
        name, "subtract", "long", _removed(name, subject, run),
        _call(name, "multiply", "long", runs, _whole(len(search))),
    )  # fmt: skip
    further = _call(name, "divide", "long", longer, _whole(shifts[0]))
    return _call(name, "add", "long", runs, further)


def _difference(name: str, subject: Expression, search: Constant, length: int) -> Expression:
    without = _call(name, "replace_plain", "string", subject, search, Constant("", "string"))
    whole, rest = (_call(name, "strlen", "long", t) for t in (subject, without))
    removed = _call(name, "subtract", "long", whole, rest)
    return _call(name, "divide", "long", removed, _whole(length))


def _removed(name: str, subject: Expression, run: Constant) -> Expression:
    """Return how many characters match a pattern."""
    rewrite = Constant("", "string", "rewrite")
    without = _call(name, "replace_regex", "string", subject, run, rewrite)
    whole, rest = (_call(name, "strlen", "long", t) for t in (subject, without))
    return _call(name, "subtract", "long", whole, rest)


def _strrep(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 3)
    value = _as_text(name, arguments[0])
    count = min(constant_whole(arguments[1], 0, 2**31 - 1), REPETITIONS_MAX)
    if count == 0:
        return Constant("", "string")
    unit = value
    if len(arguments) == 3:
        unit = _call(name, "strcat", "string", _as_text(name, arguments[2]), value)
    rest = _call(name, "repeat", "string", unit, _whole(count - 1))
    return _call(name, "strcat", "string", value, rest)


def _reverse(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    return _call(name, "reverse", "string", _as_text(name, arguments[0]))


def _strcmp(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    a, b = (_as_text(name, argument) for argument in arguments)
    less, greater = (_call(name, template, "bool", a, b) for template in ("lt", "gt"))
    return Choice(((less, _whole(-1)), (greater, _whole(1))), _whole(0), "long")


def _translate(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    search, replacement = (constant_text(a) for a in arguments[:2])
    # The last sign of a shorter list stands for the rest; the first of equal signs counts.
    padded = replacement + replacement[-1:] * (len(search) - len(replacement))
    pairs = dict(reversed(list(zip(search, padded, strict=False))))
    kept = [c for c in dict.fromkeys(search) if c in pairs]
    removed = [c for c in dict.fromkeys(search) if c not in pairs]
    source, target = "".join([*kept, *removed]), "".join(pairs[c] for c in kept)
    subject = _as_text(name, arguments[2])
    if not source:
        return subject
    texts = (Constant(source, "string"), Constant(target, "string"))
    return _call(name, "translate", "string", subject, *texts)


def constant_list(argument: Argument) -> list[object]:
    """Return an array that is known beforehand."""
    value = argument.value
    parsed = None
    if isinstance(value, Constant) and value.type == "dynamic" and value.value is not None:
        parsed = json.loads(str(value.value))
    if not isinstance(parsed, list):
        argument.fail("an array is needed that is known before", "write dynamic(['a', 'b'])")
    return parsed


def _replace_strings(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    lookups, rewrites = (constant_list(a) for a in arguments[1:])
    if len(lookups) != len(rewrites) or not 0 < len(lookups) <= REPLACEMENTS_MAX:
        arguments[2].fail(
            f"there are {len(lookups)} texts and {len(rewrites)} replacements",
            f"write as many of both, at most {REPLACEMENTS_MAX}",
        )
    result = _as_text(name, arguments[0])
    steps: list[tuple[str, str]] = []
    for number, (lookup, rewrite) in enumerate(zip(lookups, rewrites, strict=True)):
        if not isinstance(lookup, str) or not lookup:
            arguments[1].fail("each text to look for has characters", "write texts in quotes")
        mark = chr(_MARKS_FROM + number)
        steps.append((lookup, mark))
        # A replacement that is no text keeps the text.
        steps.append((mark, rewrite if isinstance(rewrite, str) else lookup))
    for old, new in [*steps[::2], *steps[1::2]]:
        texts = (Constant(old, "string"), Constant(new, "string"))
        result = _call(name, "replace_plain", "string", result, *texts)
    return result


def _tohex(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1, 2)
    value = arguments[0]
    if value.value.type not in ("int", "long"):
        value.fail(f"a whole number is needed, this is {value.value.type}", "use tolong()")
    number = convert(value.value, "long", value.offset, name)
    digits: Expression = _call(name, "to_hex", "string", number)
    if value.value.type == "int":
        # An int has 32 bits, whatever its sign.
        eight = _call(name, "slice", "string", digits, _whole(9), _whole(8))
        is_negative = _call(name, "lt", "bool", number, _whole(0))
        digits = Choice(((is_negative, eight),), digits, "string")
    if len(arguments) == 1:
        return digits
    width = _whole(constant_whole(arguments[1], 0, 64))
    return _call(name, "pad_zeros", "string", digits, width)


def _text_function(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    argument = arguments[0]
    if argument.value.type not in ("string", "dynamic"):
        argument.fail(f"it takes a text, not {argument.value.type}", "use tostring()")
    return _call(name, name, "string", or_empty(convert(argument.value, "string", offset, name)))


RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "indexof": _indexof,
    "countof": _countof,
    "strrep": _strrep,
    "reverse": _reverse,
    "strcmp": _strcmp,
    "translate": _translate,
    "replace_strings": _replace_strings,
    "tohex": _tohex,
    "text": _text_function,
}
