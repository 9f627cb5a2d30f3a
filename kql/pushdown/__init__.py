"""Predicate and projection pushdown: what a query needs of the files that it reads."""
