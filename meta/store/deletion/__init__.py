"""Deletion: retention, due tombstones, brakes, orphans, deleted datasets, expired rows."""
