"""Locks of resources: set, ended, kept in the bucket, and seen by the loops that delete."""
