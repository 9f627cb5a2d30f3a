"""Calls about rewrites as jobs."""
