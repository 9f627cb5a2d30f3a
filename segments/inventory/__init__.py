"""Inventory: a sorted stream of the bucket's objects, merge-joined with what is expected there.

    stores --- list_objects ---> objects in the order of keys
                                        |
    rows or footers, in that order --- match ---> row without object | both | object without row
                                                        |
                                        a kind of FINDINGS, and nothing more

Memory is one page of each side. A finding is never a ground to delete: the caller concludes, by the
table of docs/adr/0033-one-inventory-of-the-bucket.md, and each remedy proves anew in a transaction
of its own.
"""
