"""Token indexes: which terms the texts of a segment may have, by row groups."""
