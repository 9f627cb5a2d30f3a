"""Object stores: a folder, S3, and what both have in common."""
