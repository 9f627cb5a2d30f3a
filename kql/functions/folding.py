"""Case folding: one definition for constants, columns and token indexes, in every engine.

A character is folded to its lower-case character, one to one and whatever is beside it. The dotted
capital I is an i, and each sigma is σ. `LOWER` of DuckDB, and that of Spark and Trino as
`tolower` writes it, does so for all characters that the engine's Unicode knows, but for the final
sigma. `terms` of token indexes folds the two other characters that are ASCII in lower case.
"""

from functools import cache

from kql.regex import escape
from kql.typed import Apply, Constant, Expression

_ALPHANUMERIC = r"\p{L}\p{N}"
# RE2 compiles a pattern of them in 0.02 ms, where all letters of Unicode take one.
ASCII_ALPHANUMERIC = "0-9A-Za-z"
_FINAL_SIGMA, _SIGMA = "ς", "σ"
_UNLIKE_LOWER = str.maketrans({"İ": "i", "Σ": _SIGMA, _FINAL_SIGMA: _SIGMA})
# Characters that are folded to these, and are not the upper or title case of them.
_OTHERS = {"i": "İ", "k": "\u212a", "ß": "ẞ", "å": "\u212b", "θ": "ϴ", "σ": "ς", "ω": "\u2126"}


def folded(text: str) -> str:
    """Return a text without regard to case, by this Python's version of Unicode."""
    return text.translate(_UNLIKE_LOWER).lower()


def folded_constant(text: str) -> Expression:
    """Return a folded constant.

    The engine folds it if it is not ASCII, so that both sides are folded by one version of Unicode.
    """
    if text.isascii():
        return Constant(text.lower(), "string")
    return Apply("tolower", (Constant(text.translate(_UNLIKE_LOWER), "string"),), "string")


def folded_value(
    value: Expression, others: str | None, offset: int = 0, source: str = ""
) -> Expression:
    """Return a text without regard to case, which is then compared with these constants.

    `others` is None if they are not constants. A final sigma matters beside a sigma only.
    """
    if others is None or _SIGMA in folded(others):
        signs = (Constant(sign, "string") for sign in (_FINAL_SIGMA, _SIGMA))
        value = Apply("replace_string", (value, *signs), "string", offset, source)
    return Apply("tolower", (value,), "string", offset, source)


def folded_pattern(text: str) -> str:
    """Return a pattern that finds a text in any case, without engines' rules of case."""
    return "".join(map(_character_pattern, text))


def folded_term_pattern(text: str, kind: str, alphanumeric: str = _ALPHANUMERIC) -> str:
    """Return the pattern of a term in any case, in texts that have these letters and digits."""
    return _bounded(folded_pattern(text), text, kind, alphanumeric)


def term_pattern(text: str, kind: str) -> str:
    """Return the pattern of a term: `kind` is has, hasprefix or hassuffix."""
    return _bounded(escape(text), text, kind)


def _bounded(pattern: str, text: str, kind: str, alphanumeric: str = _ALPHANUMERIC) -> str:
    """The ends of a term need a boundary if they are alphanumeric."""
    before = "" if kind == "hassuffix" or not text[:1].isalnum() else f"(?:^|[^{alphanumeric}])"
    after = "" if kind == "hasprefix" or not text[-1:].isalnum() else f"(?:[^{alphanumeric}]|$)"
    return f"{before}{pattern}{after}"


@cache
def variants(character: str) -> str:
    """Return the characters that are folded to the same one."""
    fold = folded(character)
    cases = (character, fold, fold.upper(), fold.title(), *_OTHERS.get(fold, ""))
    return "".join(sorted({c for c in cases if len(c) == 1 and folded(c) == fold}))


def _character_pattern(character: str) -> str:
    cases = variants(character)
    return f"[{cases}]" if len(cases) > 1 else escape(character)
