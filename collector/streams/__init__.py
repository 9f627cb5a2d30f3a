"""The write path: buffer, flusher, and the writer of an ingest stream."""
