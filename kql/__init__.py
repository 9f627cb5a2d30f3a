"""The query language: a subset of KQL, checked against types and translated to SQL.

Of Segplane it imports `segments` only: meta checks projections with it, readers
translate queries with it.
"""
