"""Costs of a process: what it spends is charged to datasets, and reported to meta."""
