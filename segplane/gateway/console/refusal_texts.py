"""Refusals of queries as people read them."""

import re

from kql.errors import KqlError
from segplane.gateway.http.refusals import QueryRefusal

# The place of a refusal in our query, which is not the person's text.
_PLACE = re.compile(r"^\d+:\d+: ")


def readable(error: KqlError | QueryRefusal, search: str) -> QueryRefusal:
    """Return a refusal without the place in a query of ours; its excerpt has the person's words."""
    if isinstance(error, KqlError):
        return QueryRefusal(f"{error.what}; {error.hint}", error.excerpt(search))
    error.args = (_PLACE.sub("", str(error)),)
    return error
