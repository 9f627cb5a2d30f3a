"""Refusals of the query language, by their public name."""

from kql.errors import KqlError

__all__ = ["KqlError"]
