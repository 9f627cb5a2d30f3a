"""Checker of scalar expressions: types of calls, by family of functions."""
