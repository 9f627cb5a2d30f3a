"""Commands that define datasets, schemas, views and projections."""
