"""Public names of the query language in a checkout; in a wheel, the package `kql` takes this place.

Only the names that release 0.2.0 had are here.
"""
