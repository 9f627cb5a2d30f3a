"""The console at /ui/: server-rendered pages over the same queries and calls as every other client.

browser -> policy (host, Fetch Metadata) -> sessions (whose rights) -> pages -> templates
                                                                 |
                         queries (rows), management and health (facts of meta)
"""
