"""Merged segments as Parquet files: columnar row groups (PAX) with zone maps and Bloom filters.

    +-------------+-------------+-------------+-------------+----------+
    | logs        | logs        | traces      | metrics     | footer   |
    | row group 1 | row group 2 | row group 3 | row group 4 |          |
    +-------------+-------------+-------------+-------------+----------+
      |                                                       facts, lineage, columns,
      +- column: pages of 64 KiB, dictionary, bounds          from which a catalog is rebuilt
         (zone map), Bloom filter of ids

A file has a section for each signal, in one order, and the union of their columns. Rows of a
section are sorted, so bounds of row groups and pages let readers skip most of them.

- `schema` is the one place that knows the columns of the format; `columns/` has those beside them
  and the forms in which they are stored.
- `writer` and `small_writer` write, `reader` reads, `sections` divides, `layout` sets Parquet's
  options. `upload` puts a file into the store and proves that it got there whole.
- docs/segment-format.md describes the bytes for other readers.
"""
