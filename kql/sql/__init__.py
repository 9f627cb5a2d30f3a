"""Typed trees as SQL: one table of patterns an engine. The only part that needs sqlglot."""
