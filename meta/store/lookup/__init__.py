"""FindSegments, the change feed, lineage, and babies that are not merged yet."""
