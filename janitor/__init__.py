"""The janitor: plans merges, deletes what is tombstoned and collects orphans."""
