"""Pins: leases on a dataset at a version, with their limits and lists."""
