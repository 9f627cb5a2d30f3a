"""Calls about workers: when each was last seen, and what operators have set for it."""
