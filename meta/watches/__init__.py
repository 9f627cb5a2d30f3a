"""Loops that meta runs by itself: clock, pins, rewrites, expiry, health."""
