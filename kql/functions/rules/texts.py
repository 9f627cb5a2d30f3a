"""Rules over texts: searches, counts, repetitions, replacements and encodings."""

import json
from collections.abc import Callable

from kql.functions.arguments import CheckedCall, constant_text, constant_whole, pattern, whole
from kql.functions.arithmetic import convert
from kql.regex import escape
from kql.scope import Argument
from kql.typed import Choice, Constant, Expression

REPETITIONS_MAX = 1_024
REPLACEMENTS_MAX = 64
# Signs that stand for a replacement until all are found: the last private plane of Unicode.
_MARKS_FROM = 0x10F000


def _indexof(call: CheckedCall) -> Expression:
    subject = call.arguments[0].value
    if call.name == "indexof":
        lookup = call.arguments[1].value
    else:
        written = constant_text(call.arguments[1])
        pattern(written, call.arguments[1])
        # The text before the first match; a dot matches no line's end.
        before = pattern(rf"\A((?:.|\n)*?)(?:{written})", call.arguments[1])
    start = constant_whole(call.arguments[2], -(10**9), 10**9) if len(call.arguments) > 2 else 0
    length = constant_whole(call.arguments[3], -1, 10**9) if len(call.arguments) > 3 else -1
    if len(call.arguments) > 4 and constant_whole(call.arguments[4], 1, 10**9) != 1:
        call.arguments[4].fail("only the first occurrence is looked for", "leave the argument out")
    if call.name == "indexof_regex" and start < 0:
        return Constant(None, "long")
    searched: Expression = subject
    if length >= 0:
        searched = call.apply("substring_of", "string", subject, whole(start), whole(length))
    elif start:
        searched = call.apply("substring", "string", subject, whole(start))
    if call.name == "indexof":
        index: Expression = call.apply("position", "long", searched, lookup)
    else:
        is_match = call.apply("match", "bool", searched, before)
        head = call.apply("extract", "string", before, whole(1), searched)
        after = call.apply("add", "long", call.apply("strlen", "long", head), whole(1))
        index = Choice(((is_match, after),), whole(0), "long")
    shift: Expression = whole(start - 1)
    if start < 0:
        end = call.apply("add", "long", call.apply("strlen", "long", subject), whole(start))
        at_least = call.apply("greatest", "long", end, whole(0))
        shift = call.apply("subtract", "long", at_least, whole(1))
    is_absent = call.apply("eq", "bool", index, whole(0))
    return Choice(((is_absent, whole(-1)),), call.apply("add", "long", index, shift), "long")


def _countof(call: CheckedCall) -> Expression:
    subject, search = call.arguments[0].value, constant_text(call.arguments[1])
    kind = constant_text(call.arguments[2]) if len(call.arguments) == 3 else "normal"
    if kind not in ("normal", "regex"):
        call.arguments[2].fail(f"there is no kind {kind[:40]!r}", "write 'normal' or 'regex'")
    if not search:
        call.arguments[1].fail("an empty text is found everywhere", "write at least one character")
    if kind == "regex":
        return call.apply("count_matches", "long", subject, pattern(search, call.arguments[1]))
    shifts = [n for n in range(1, len(search)) if search[n:] == search[: len(search) - n]]
    if any(shift % shifts[0] for shift in shifts):
        call.arguments[1].fail(
            "this text overlaps itself in several ways", "count with kind 'regex'"
        )
    if not shifts:
        searched = Constant(search, "string")
        removed = _shorter(call, subject, "replace_plain", searched, Constant("", "string"))
        return call.apply("divide", "long", removed, whole(len(search)))
    # Matches that overlap are a run: a match, and its end again for each further one.
    run = pattern(f"{escape(search)}(?:{escape(search[-shifts[0] :])})*", call.arguments[1])
    runs = call.apply("count_matches", "long", subject, run)
    removed = _shorter(call, subject, "replace_regex", run, Constant("", "string", "rewrite"))
    matched = call.apply("multiply", "long", runs, whole(len(search)))
    longer = call.apply("subtract", "long", removed, matched)
    further = call.apply("divide", "long", longer, whole(shifts[0]))
    return call.apply("add", "long", runs, further)


def _shorter(
    call: CheckedCall, text: Expression, template: str, *arguments: Expression
) -> Expression:
    """Return how many characters a replacement by nothing takes away."""
    without = call.apply(template, "string", text, *arguments)
    lengths = (call.apply("strlen", "long", each) for each in (text, without))
    return call.apply("subtract", "long", *lengths)


def _strrep(call: CheckedCall) -> Expression:
    value = call.arguments[0].value
    count = min(constant_whole(call.arguments[1], 0, 2**31 - 1), REPETITIONS_MAX)
    if count == 0:
        return Constant("", "string")
    unit = value
    if len(call.arguments) == 3:
        unit = call.apply("strcat", "string", call.arguments[2].value, value)
    repeated = call.apply("repeat", "string", unit, whole(count - 1))
    return call.apply("strcat", "string", value, repeated)


def _translate(call: CheckedCall) -> Expression:
    search, replacement = (constant_text(a) for a in call.arguments[:2])
    # The last sign of a shorter list stands for the rest; the first of equal signs counts.
    padded = replacement + replacement[-1:] * (len(search) - len(replacement))
    pairs = dict(reversed(list(zip(search, padded, strict=False))))
    kept = [c for c in dict.fromkeys(search) if c in pairs]
    removed = [c for c in dict.fromkeys(search) if c not in pairs]
    source, target = "".join([*kept, *removed]), "".join(pairs[c] for c in kept)
    subject = call.arguments[2].value
    if not source:
        return subject
    texts = (Constant(source, "string"), Constant(target, "string"))
    return call.apply("translate", "string", subject, *texts)


def constant_list(argument: Argument) -> list[object]:
    """Return an array that is known beforehand."""
    value = argument.value
    parsed = None
    if isinstance(value, Constant) and value.type == "dynamic" and value.value is not None:
        parsed = json.loads(str(value.value))
    if not isinstance(parsed, list):
        argument.fail("an array is needed that is known before", "write dynamic(['a', 'b'])")
    return parsed


def _replace_strings(call: CheckedCall) -> Expression:
    lookups, rewrites = (constant_list(a) for a in call.arguments[1:])
    if len(lookups) != len(rewrites) or not 0 < len(lookups) <= REPLACEMENTS_MAX:
        call.arguments[2].fail(
            f"there are {len(lookups)} texts and {len(rewrites)} replacements",
            f"write as many of both, at most {REPLACEMENTS_MAX}",
        )
    result = call.arguments[0].value
    steps: list[tuple[str, str]] = []
    for number, (lookup, rewrite) in enumerate(zip(lookups, rewrites, strict=True)):
        if not isinstance(lookup, str) or not lookup:
            call.arguments[1].fail("each text to look for has characters", "write texts in quotes")
        mark = chr(_MARKS_FROM + number)
        steps.append((lookup, mark))
        # A replacement that is not text keeps the text.
        steps.append((mark, rewrite if isinstance(rewrite, str) else lookup))
    for old, new in [*steps[::2], *steps[1::2]]:
        texts = (Constant(old, "string"), Constant(new, "string"))
        result = call.apply("replace_plain", "string", result, *texts)
    return result


def _tohex(call: CheckedCall) -> Expression:
    value = call.arguments[0]
    if value.value.type not in ("int", "long"):
        value.fail(f"a whole number is needed, this is {value.value.type}", "use tolong()")
    number = convert(value.value, "long", value.offset, call.name)
    digits: Expression = call.apply("to_hex", "string", number)
    if value.value.type == "int":
        # An int has 32 bits, whatever its sign.
        eight = call.apply("slice", "string", digits, whole(9), whole(8))
        is_negative = call.apply("lt", "bool", number, whole(0))
        digits = Choice(((is_negative, eight),), digits, "string")
    if len(call.arguments) == 1:
        return digits
    width = whole(constant_whole(call.arguments[1], 0, 64))
    return call.apply("pad_zeros", "string", digits, width)


RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "indexof": _indexof,
    "countof": _countof,
    "strrep": _strrep,
    "translate": _translate,
    "replace_strings": _replace_strings,
    "tohex": _tohex,
}
