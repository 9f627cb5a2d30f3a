"""Costs of a process: what it spends is added up by dataset, and reported to meta."""
