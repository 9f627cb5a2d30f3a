"""Token index: Bloom filters of terms, by spans of rows, in blocks that a term's hash chooses.

    hash of a term    | first bits: block |   other bits: probes of a filter   |

    index in the object     block 0    block 1    ...    block 1,023
                            +-------------------------------------------+
    one block               | row groups | filter 1 | filter 2 | CRC-32C |
                            +-------------------------------------------+

A Bloom filter (1970) has no false negatives: a span of 8,192 rows whose filter lacks a term has
no row with it and is skipped. A reader asks for one block of each segment, whatever the size of the
index.

- `terms` defines terms of bodies and pairs of attributes, for writers and all readers.
- `builder` makes the filters of a row group when the row group is written, so its memory is that of
  one row group's terms. Filters get a bounded share of the file; with less room, more terms seem
  present, and a filter without bytes has every term.
- A block that is damaged or of another place has every term: its checksum covers its number.
"""
