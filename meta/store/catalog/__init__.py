"""The catalog: datasets with settings and layouts; schemas, views and projections. Multi-version.

    schema --binding--> dataset: layout = sharding fields, promoted columns, each with a field id
                          |  name and columns at a version: older readers see the former ones
    projection --link-----+----> view: columns that a dataset yields for it

- Names are unique in a group, and are renamed from a version on (`dataset_names`, `groups`).
- A change of an entry is optimistic: it names the version that it was made from.
- Notes, labels and contexts are of all kinds alike (`resources`).
"""
