"""Streams, their datasets, commits, tokens and routing, nurseries' shards."""
