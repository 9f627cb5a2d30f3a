"""Restores a catalog from the objects of a bucket."""
