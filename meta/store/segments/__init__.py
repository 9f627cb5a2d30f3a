"""Segments: rows, kept messages, object keys, counters, burial."""
