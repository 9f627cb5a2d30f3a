"""Names and texts of an address as KQL quotes them."""

import re

from segplane.gateway.console.visible_text import INVISIBLE

# KQL has no texts with a NUL or with half a character.
NOT_IN_TEXTS = re.compile("[\0\ud800-\udfff]")
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def text_literal(text: str) -> str:
    """Return a text as a literal of KQL, whatever it holds, whose invisible characters are seen.

    KQL itself refuses a text with a NUL or with half a character, in quotes too.
    """
    return f"'{INVISIBLE.sub(_escaped, text.translate(_ESCAPES))}'"


def quoted_name(name: str) -> str:
    """Return the name of a dataset or a column as KQL quotes it."""
    return f"[{text_literal(name)}]"


def _escaped(character: re.Match[str]) -> str:
    # An escape of KQL has four digits.
    code = ord(character[0])
    is_escaped = code <= 0xFFFF and not NOT_IN_TEXTS.match(character[0])
    return f"\\u{code:04x}" if is_escaped else character[0]
