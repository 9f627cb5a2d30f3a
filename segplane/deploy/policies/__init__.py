"""Policies of buckets for the accounts of the model: S3 and its relatives, Google, Azure."""
