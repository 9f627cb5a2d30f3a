"""Management over HTTP: resources of the catalog, by the RPCs of meta and the caller's own token.

routes.py (a table) --> service.py (callers, bodies) --> calls.py (an RPC a row) --> meta
                `-----> openapi.py (the same table and the descriptors) --> openapi.json
"""
