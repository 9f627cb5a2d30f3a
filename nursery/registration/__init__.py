"""Registration of a cycle's merges at meta, with deduplication."""
