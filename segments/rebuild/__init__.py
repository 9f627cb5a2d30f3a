"""Reconstruction of a catalog from the bucket."""
