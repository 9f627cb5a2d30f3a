"""The life of ingest streams: leased shards, parked and dead streams, reaping."""
