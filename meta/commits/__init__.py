"""Transactions, group commit, and the feed of committed changes."""
