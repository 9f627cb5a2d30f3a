r"""External merge sort: sorted segments into one, in memory that their sizes do not change.

    inputs, each sorted     one batch of each          block: rows <= least last row of the batches
    [a c f | k ...]   --->  a c f             \
    [b d h | ...  ]   --->  b d h              >--->   a b c d e f  --sort, write-->  output
    [e g i | ...  ]   --->  e g i             /        (g, h, i wait for the batch behind f)

It is the k-way merge of Knuth, volume 3, with blocks of rows, which Arrow sorts, in place of a heap
of single rows.

- `merge` runs it section by section; `kway_merge` is the streaming merge itself.
- Inputs in another order become sorted runs on local disk first (`runs`).
- `schema_adapter` brings rows of any release and settings to the columns of the output.
- A merge that is divided by day spills its rows by output (`day_merge`); `indexing` decides whether
  the output gets a token index.
- `inputs` compares the rows and bounds of outputs with those of the inputs: conservation.
"""
