"""Consistency checks: an anti-entropy scan of catalog, footers and data, and safe repairs.

    catalog_check   bucket's listing  <- merge join ->  rows, both in the order of keys
    footer_check    footer of each live segment  <->  its row, and the other footers
    data_check      every object read whole  <->  its checksum, pages and messages
                      |
                      v
    findings --> repair (what needs no judgement)     the others are left, with advice

A finding is never a reason to delete: each repair proves anew what it found.
"""
