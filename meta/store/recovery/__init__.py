"""Recovery of a catalog from the bucket: roll forward of a lost or restored database.

    lost database       empty schema --> all rows from footers and baby segments (`rebuild`)
    restored database   older rows --> streams it does not know, ended (`restored_streams`)
                                   --> segments whose babies are missing (`lost_segments`)
                                   --> live rows without an object (`gone_segments`), if approved

Each step is one transaction, which proves anew what the bucket's listing suggested.
"""
