"""Rewrites: segments of a dataset written again, by calls or as jobs."""
