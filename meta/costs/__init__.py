"""Costs of a process: sums by dataset of what it spends, and what it has spent."""
