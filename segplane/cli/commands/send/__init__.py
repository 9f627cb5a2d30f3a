"""Commands for senders: ingest tokens and test deliveries."""
