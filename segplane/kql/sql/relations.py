"""SQL of a checked query, by its public name."""

from kql.sql.relations import to_sql

__all__ = ["to_sql"]
