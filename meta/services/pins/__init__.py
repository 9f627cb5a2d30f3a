"""Calls about pins."""
