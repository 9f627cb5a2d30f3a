"""Merge tasks: planning, claims, leases, completion, failures, explanations."""
