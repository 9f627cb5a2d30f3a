"""Reading baby segments, for nurseries and fresh readers. A vectorised scan with demultiplexing.

    reader: fetched ahead --> payloads --> routing --> decoding: one pass per signal, many datasets
            checksums          |           by token      |
                               v                         +-- conformity: schema violations, windows
                       damaged: named, and               +-- deduplication: first of equal keys
                       kept for the quarantine           v
                                                      columns: rows of each dataset

Bytes that nobody can decode are named, and hold up no other payload.
"""
