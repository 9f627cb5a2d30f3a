"""SegmentLookupService, changes of a dataset, and babies that a version does not show."""
