"""Refusals of the catalog: each is one sentence that an engine shows to its user."""


class TableRefused(Exception):
    """The table exists and cannot be read; the message says why and what to do."""


class TableMissing(Exception):
    """There is no such table."""


class RequestRefused(Exception):
    """The request makes no sense; the message names the expected form."""


class AccessRefused(Exception):
    """The caller may not have this; the message says why."""


class OtherTable(AccessRefused):
    """The object is of another dataset than the table."""


class ObjectGone(Exception):
    """An object of the table was deleted; the message says why and what to do."""


class PlanTaskMissing(Exception):
    """There is no such part of a plan."""
