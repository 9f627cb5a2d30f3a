r"""Regular expressions that RE2 and Java's engine both evaluate, and the pattern for each.

RE2 is what KQL documents. Java's `.` `$` and `\s` mean other characters, its case folding knows
ASCII only, and its classes have set operators; look-around, back-references and possessive
quantifiers it has and RE2 has not.
"""

import re
from dataclasses import dataclass, field

PATTERN_CHARACTERS_MAX = 1_000
# RE2 refuses repetitions above it, and programs that they blow up.
REPETITIONS_MAX = 1_000
_TOKEN = re.compile(
    r"""
    (?P<group>\((?:\?(?:P?<(?P<name>[A-Za-z_]\w*)>|(?P<flags>[ims]*)(?:-[ims]+)?(?P<scope>[:)])))?)
  | (?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
  | (?P<count>\{(?P<low>\d{1,6})(?:(?P<comma>,)(?P<high>\d{0,6}))?\})
  | (?P<quantifier>[*+?])
  | (?P<escape>\\(?:x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\}|[pP](?:\{\^?\w+\}|\w)|.))
  | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASS_TOKEN = re.compile(
    r"\\(?:x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\}|[pP](?:\{\^?\w+\}|\w)|.)|.", re.DOTALL
)
_ESCAPES = frozenset("dDwWsSbBAztnrfv")
_CATEGORIES = frozenset(
    ["L", "Ll", "Lu", "Lt", "Lm", "Lo", "M", "Mn", "N", "Nd", "Nl", "No", "P", "S", "Z", "Zs"]
)
_JAVA = {"s": r"[\t\n\f\r ]", "S": r"[^\t\n\f\r ]", "v": r"\x0B", "z": r"\z"}
_JAVA_IN_CLASS = {"s": r"\t\n\f\r ", "v": r"\x0B"}
_SPECIAL = frozenset(r"\.^$|()[]{}*+?")
_FOLDED = re.compile(r"[^iksIKS]{1,100}")


@dataclass(slots=True)
class _Progress:
    groups: int = 0
    # Maximum repetitions of the last atom, and of the content of each open group, when written out.
    atom_repeats: int = 1
    repeats: list[int] = field(default_factory=lambda: [1])
    can_repeat: bool = False
    was_quantifier: bool = False
    is_multiline: bool = False


def escape(text: str) -> str:
    """Return the pattern of exactly this text, for every engine alike."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in text)


def plainly_folded(text: str) -> str:
    """Return the longest part of a text whose letters have no capitals beyond ASCII; "" if none.

    It has 100 characters at most.
    Beyond ASCII the Kelvin sign, the long s and the dotted I have ASCII letters in lower case. RE2
    searches for a part without these before it runs its automaton.
    """
    return max(_FOLDED.findall(text), key=len, default="") if text.isascii() else ""


def group_count(pattern: str) -> int:
    """Return the number of groups. Raises ValueError if the pattern is not of the subset."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise ValueError(f"a pattern has at most {PATTERN_CHARACTERS_MAX:,} characters")
    return _walk(pattern)[0].groups


def to_re2(pattern: str) -> str:
    """Return the pattern for RE2, in which a line feed is like any other character to `$`."""
    return "".join(_walk(pattern)[1])


def to_java(pattern: str) -> str:
    """Return a pattern by which Java's engine finds what RE2 finds."""
    return "(?d)" + "".join(_walk(pattern)[2])


def to_trino(pattern: str) -> str:
    """Return a pattern by which Trino finds what RE2 finds.

    Its engine reads Java's patterns, but knows neither of the flags `d` and `u`, which always hold.
    """
    pieces = _walk(pattern)[2]
    return "".join(p.replace("iu", "i") if p.startswith("(?") else p for p in pieces)


def _walk(pattern: str) -> tuple[_Progress, list[str], list[str]]:
    """Check every piece; return the counts and the pieces for RE2 and for Java."""
    progress, re2, java = _Progress(), list[str](), list[str]()
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        assert match is not None
        position = match.end()
        piece = _PIECES[str(_kind(match))](match, progress)
        re2.append(match[0] if match["name"] is None else f"(?P<{match['name']}>")
        java.append(piece)
    if len(progress.repeats) > 1:
        raise ValueError("a group is not closed: add ')'")
    return progress, re2, java


def _kind(match: re.Match[str]) -> str:
    kinds = ("group", "class", "count", "quantifier", "escape", "plain")
    return next(kind for kind in kinds if match[kind] is not None)


def _group(match: re.Match[str], progress: _Progress) -> str:
    if match["scope"] == ")":
        # Flags that hold to the end of the group, such as (?i).
        progress.can_repeat = False
        return _java_flags(match, progress)
    if match[0] == "(" and match.string[match.end() :].startswith("?"):
        raise ValueError("look-around and such groups are not part of RE2: leave '(?' out")
    progress.repeats.append(1)
    progress.can_repeat = progress.was_quantifier = False
    if match["scope"] == ":":
        return _java_flags(match, progress)
    progress.groups += 1
    return "("


def _java_flags(match: re.Match[str], progress: _Progress) -> str:
    if "-" in match[0]:
        raise ValueError("flags cannot be taken back: put them on a group, as (?i:...)")
    flags = match["flags"] or ""
    progress.is_multiline |= "m" in flags
    return match[0].replace("i", "iu") if "i" in flags else match[0]


def _class(match: re.Match[str], progress: _Progress) -> str:
    _atom(progress)
    text = match["class"]
    start = 2 if text.startswith("[^") else 1
    pieces = [text[:start]]
    inside = text[start:-1]
    if "[:" in inside or not inside:
        raise ValueError(r"classes such as [:alpha:] are not known: write \p{L}, \d or ranges")
    for token in _CLASS_TOKEN.findall(inside):
        if len(token) > 1:
            pieces.append(_escaped(token, in_class=True))
        else:
            pieces.append(f"\\{token}" if token in "[]&^~" else token)
    return "".join(pieces) + "]"


def _count(match: re.Match[str], progress: _Progress) -> str:
    low, high = int(match["low"]), int(match["high"] or match["low"])
    repeats = progress.atom_repeats * max(high, 1)
    progress.repeats[-1] = max(progress.repeats[-1], repeats)
    if high < low or repeats > REPETITIONS_MAX:
        raise ValueError(f"repetitions together are at most {REPETITIONS_MAX:,}")
    return _quantifier(match, progress)


def _quantifier(match: re.Match[str], progress: _Progress) -> str:
    if not progress.can_repeat:
        is_lazy = match[0] == "?" and progress.was_quantifier
        if not is_lazy:
            raise ValueError(f"nothing stands before {match[0]!r} that it could repeat")
        progress.was_quantifier = False
        return match[0]
    progress.can_repeat, progress.was_quantifier = False, True
    return match[0]


def _escape(match: re.Match[str], progress: _Progress) -> str:
    _atom(progress)
    return _escaped(match[0], in_class=False)


def _escaped(token: str, *, in_class: bool) -> str:
    letter = token[1]
    if letter in "pP":
        name = token[2:].strip("{}")
        if name not in _CATEGORIES:
            raise ValueError(f"there is no class {token}: use one of {', '.join(_CATEGORIES)}")
        return f"\\{letter}{{{name}}}"
    if letter == "x" or (letter.isascii() and not letter.isalnum()):
        return token
    if letter not in _ESCAPES or (in_class and letter in "bBAzS"):
        raise ValueError(f"{token} is not known here: RE2 has no look-around or back-references")
    replaced = _JAVA_IN_CLASS if in_class else _JAVA
    return replaced.get(letter, token)


def _plain(match: re.Match[str], progress: _Progress) -> str:
    character = match[0]
    if character in "[\\":
        raise ValueError(f"{character!r} is not closed: a pattern escapes it with a backslash")
    if character == ")":
        if len(progress.repeats) == 1:
            raise ValueError("a ')' has no '(': escape it with a backslash")
        progress.atom_repeats = progress.repeats.pop()
        progress.repeats[-1] = max(progress.repeats[-1], progress.atom_repeats)
        progress.can_repeat, progress.was_quantifier = True, False
        return character
    if character in "|^$":
        progress.can_repeat = progress.was_quantifier = False
        # Java's matches before a last line feed as well.
        return r"\z" if character == "$" and not progress.is_multiline else character
    _atom(progress)
    return f"\\{character}" if character in "{}" else character


def _atom(progress: _Progress) -> None:
    progress.atom_repeats = 1
    progress.can_repeat, progress.was_quantifier = True, False


_PIECES = {
    "group": _group,
    "class": _class,
    "count": _count,
    "quantifier": _quantifier,
    "escape": _escape,
    "plain": _plain,
}
