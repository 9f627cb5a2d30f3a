"""Reconstruction of a catalog from the bucket: constraint solving over the lineage of files.

    footers: babies and batches of each file ----+
    babies that are present, with their stamps --+--> plan: live files, offsets of each stream
                                                 |
             batches       which unmerged batches must have been registered
             parts         which of the files of a registered batch is live
             exact_cover   of overlapping files those that leave the fewest records uncovered
             replays       the quarantine's records, which are never live twice

- A batch that a merge took in was registered; a baby that is present can be merged again. All else
  follows from these two.
- All but `inventory` and `spilled_segments` is pure: bytes are read before, rows written after.
"""
