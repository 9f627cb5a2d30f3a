"""Merges of sorted segments."""
