r"""Backups of the database: copied by the server's own tools, kept, verified.

    snapshot (exported) --> its version --> CreateBackup: meta keeps its objects
                       \--> pg_dump of the snapshot --> dump, digest --> manifest, written last

A folder with a manifest is a whole backup. Without one it is the rest of a copy that failed.
"""
