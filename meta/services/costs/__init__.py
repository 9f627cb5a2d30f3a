"""Costs of datasets: reports of processes, and the ledger that they make."""
