"""A read-only Iceberg REST catalog: a projection of datasets to tables, made when they are read.

    engine --> catalog: routes --> tables: a dataset as a table, a version as a snapshot
                 |                   metadata: documents, manifests, manifest lists
                 |                   scans: files of a filter, planned by the gateway
                 +-- access: signed reads, or keys that expire

- A snapshot is immutable: metadata is written once, and kept by a pin as long as it is named.
- Views are texts in the dialects of engines (`views`).
"""
