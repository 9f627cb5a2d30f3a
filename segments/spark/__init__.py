"""Spark sessions of the nursery and of merge workers."""
