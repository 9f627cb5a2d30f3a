"""Queries and projections, checked, by their public names."""

from kql.queries import compile_projection, compile_query, compile_view

__all__ = ["compile_projection", "compile_query", "compile_view"]
