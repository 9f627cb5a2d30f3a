"""Texts of records as HTML: marked where a search found them, invisible characters made visible."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

# Control characters but line feeds and tabs, marks of direction, characters without width, halves
# of characters, and those of the plane that hides text in emoji. Joiners stay, which Persian and
# emoji need.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_RUN = re.compile(rf"({INVISIBLE.pattern})\1*")
TEXT_MARKS_MAX = 100
PAGE_MARKS_MAX = 2_000
_TERMS_MAX = 50
# Only the beginning of a longer term is looked for and marked.
_TERM_CHARACTERS_MAX = 100


class Marks:
    """Makes the texts of one page visible, with as many marks as a text and a page may have.

    Invisible characters beyond them are replacement characters.
    """

    def __init__(self) -> None:
        self._remaining = PAGE_MARKS_MAX

    def visible(self, text: str, terms: Sequence[str] = ()) -> Markup:
        """Return a text as HTML. Terms are marked wherever they stand, in any case."""
        beginnings = {term[:_TERM_CHARACTERS_MAX] for term in terms if term}
        parts = [text]
        if beginnings and (most := self._most()):
            chosen = sorted(beginnings, key=len, reverse=True)[:_TERMS_MAX]
            pattern = re.compile(f"({'|'.join(map(re.escape, chosen))})", re.IGNORECASE)
            # Texts between terms alternate with terms.
            parts = pattern.split(text, most)
            self._remaining -= len(parts) // 2
        escaped = [str(escape(part)) for part in parts]
        escaped[1::2] = [f"<mark>{part}</mark>" for part in escaped[1::2]]
        html = "".join(escaped)
        if most := self._most():
            html, count = _RUN.subn(_mark, html, most)
            self._remaining -= count
        # Every replaced character is escaped above, and marks have only digits of our making.
        return Markup(INVISIBLE.sub("\ufffd", html))

    def _most(self) -> int:
        return min(TEXT_MARKS_MAX, self._remaining)


def marked(text: str) -> str:
    """Return a text for titles, which have no markup."""
    return INVISIBLE.sub(lambda match: f"U+{ord(match[0]):04X}", text)


def time_element(time: str) -> Markup:
    """Return a time of RFC 3339 in UTC as an element of HTML, with all of its digits."""
    # Scripts know UTC by one name.
    time = time.replace("+00:00", "Z")
    shown = time.replace("T", " ").removesuffix("Z")
    return Markup('<time datetime="{}">{}</time>').format(time, shown)


def _mark(run: re.Match[str]) -> str:
    count = f" \u00d7{len(run[0])}" if len(run[0]) > 1 else ""
    text = f"U+{ord(run[1]):04X}{count}"
    return f'<span class="invisible" title="{text}">{text}</span>'
