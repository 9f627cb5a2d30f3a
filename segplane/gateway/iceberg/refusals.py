"""Refusals of the catalog: each is one sentence that an engine shows to its user."""


class TableRefused(Exception):
    """The table exists and cannot be read; the message says why and what to do."""


class TableMissing(Exception):
    """There is no such table."""
