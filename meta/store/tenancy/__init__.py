"""Tenants beyond their rows: usage, moves of datasets, deletion after the grace.

The rows are of `meta.store.access.tenants`. A move of a dataset takes a copy of its schema along
(`schema_copies`). After the grace of a deleted tenant its tokens end, then its datasets and then
its entries (`purge`).
"""
