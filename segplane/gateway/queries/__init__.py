"""Queries over HTTP: each runs in a process of its own, which the gateway can kill."""
