"""The query language: a subset of KQL, checked against types and translated to SQL.

Nothing in here imports any other part of Segplane: meta checks projections with it, readers
translate queries with it.
"""
