"""Processes of queries: forked, sandboxed, and ended."""
