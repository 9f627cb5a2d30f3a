"""The digest of one export, by which a resent one is recognised, and the batch id made of it."""

# A digest may be longer: what follows tells which records of the export were rejected.
DIGEST_BYTES = 16


def batch_id_of(digest: bytes) -> str:
    """Return the id that all records of an export share; "" for an export without a digest."""
    return digest[:DIGEST_BYTES].hex()
