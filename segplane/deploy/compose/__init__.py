"""Compose files: all processes over Postgres and a store, rendered from the model."""
