"""Traces of the console: queries for them, and the waterfall of one trace as pure functions.

rows of a query -> spans -> tree (parents, cycles, duplicates) -> timing -> window of a waterfall
"""
