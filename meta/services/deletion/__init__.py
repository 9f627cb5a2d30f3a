"""SegmentDeletionService, and the calls about objects without a row."""
