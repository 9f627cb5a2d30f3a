"""Checks: rows against objects, rows against rows, recounts and repairs."""
