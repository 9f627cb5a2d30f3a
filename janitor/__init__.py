"""The janitor: plans merges, deletes tombstoned segments and collects orphans."""
