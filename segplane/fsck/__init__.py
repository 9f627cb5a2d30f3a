"""Checks of catalog, footers and data, and repairs that need no judgement."""
