"""Texts of records as HTML: marked where a search found them, invisible characters made visible."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

# Control characters but line feeds and tabs, marks of direction, characters without width, and
# those of the plane that hides text in emoji. Joiners stay, which Persian and emoji need.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_MARK = Markup('<span class="invisible" title="{0}">{0}</span>')
_FOUND = Markup("<mark>{}</mark>")
_TERMS_MAX = 50


def visible(text: str, terms: Sequence[str] = ()) -> Markup:
    """Return a text as HTML. Terms are marked wherever they stand, in any case."""
    chosen = sorted({term for term in terms if term}, key=len, reverse=True)[:_TERMS_MAX]
    if not chosen:
        return _shown(text)
    pattern = re.compile("|".join(map(re.escape, chosen)), re.IGNORECASE)
    pieces, end = [], 0
    for match in pattern.finditer(text):
        pieces += [_shown(text[end : match.start()]), _FOUND.format(_shown(match[0]))]
        end = match.end()
    return Markup().join([*pieces, _shown(text[end:])])


def marked(text: str) -> str:
    """Return a text for titles, which have no markup."""
    return _INVISIBLE.sub(lambda match: _name(match[0]), text)


def time_element(time: str) -> Markup:
    """Return a time of RFC 3339 in UTC as an element of HTML, with all of its digits."""
    shown = time.replace("T", " ").removesuffix("Z")
    return Markup('<time datetime="{}">{}</time>').format(time, shown)


def _shown(text: str) -> Markup:
    pieces, end = [], 0
    for match in _INVISIBLE.finditer(text):
        pieces += [escape(text[end : match.start()]), _MARK.format(_name(match[0]))]
        end = match.end()
    return Markup().join([*pieces, escape(text[end:])])


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
