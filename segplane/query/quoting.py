"""Names and texts as SQL quotes them."""


def quoted(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"
