"""Names and texts of an address as KQL quotes them."""

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def text_literal(text: str) -> str:
    """Return a text as a literal of KQL, whatever it holds.

    KQL itself refuses a text with a NUL or with half a character, in quotes too.
    """
    return f"'{text.translate(_ESCAPES)}'"


def quoted_name(name: str) -> str:
    """Return the name of a dataset or a column as KQL quotes it."""
    return f"[{text_literal(name)}]"
