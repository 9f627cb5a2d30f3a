"""Scans that the catalog plans for its clients."""
