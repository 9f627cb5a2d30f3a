"""Calls about backups."""
