"""Merge planning: pure functions of segments, limits and a time."""
