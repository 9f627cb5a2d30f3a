"""Checkers of the tabular operators, one family a module."""
