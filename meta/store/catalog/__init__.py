"""Datasets with their settings, layouts and usage; schemas, views, projections and links."""
