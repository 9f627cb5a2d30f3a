"""Rewrites: segments of a dataset written anew, by calls or as jobs."""
