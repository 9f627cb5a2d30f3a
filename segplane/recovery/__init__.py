"""Quarantine, segment repairs, losses, and a catalog rebuilt from the bucket."""
