"""Deduplication keys that datasets have claimed: sorted runs as in a log-structured merge tree.

    windows        the days for which a dataset retains keys, and its ledger of duplicates
    staging        keys of one registration that came before it; they claim nothing
    claiming       look-up of the keys of a registration, and the run of its new ones
      keyed_hashes   keys as they are stored, and a Bloom filter of them
      run_filters    filters of large runs, in memory, which spare their look-up
    sorted_runs    pages of runs; runs are merged by size, and dropped with their day

The part of a registration that uses them is `meta.store.registration.deduplication`.
"""
