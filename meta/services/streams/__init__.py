"""IngestionService, IngestTokenService, and the calls about streams and nurseries' shards."""
