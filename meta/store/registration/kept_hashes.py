"""Deduplication keys as they are kept: keyed hashes of 16 bytes, as arrays of two numbers each."""

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from meta.store.registration.deduplication_windows import SECRET_BYTES
from segments.deduplication import HASH_BYTES

# A row for each hash: its first 8 bytes and its last, as big-endian numbers.
KeptHashes: TypeAlias = npt.NDArray[np.uint64]
NO_HASHES: KeptHashes = np.empty((0, 2), np.uint64)


def keyed(secret: bytes, hashes: bytes) -> KeptHashes:
    """Hash hashes of 16 bytes each with the secret of their dataset."""
    if len(secret) == SECRET_BYTES:
        # A permutation of all values of 16 bytes: different hashes stay different, and without the
        # secret nobody can choose one.
        encryptor = Cipher(algorithms.AES(secret), modes.ECB()).encryptor()
        return unpacked(encryptor.update(hashes) + encryptor.finalize())
    own = partial(blake2b, key=secret, digest_size=HASH_BYTES)
    starts = range(0, len(hashes), HASH_BYTES)
    return unpacked(b"".join([own(hashes[at : at + HASH_BYTES]).digest() for at in starts]))


def unpacked(hashes: bytes) -> KeptHashes:
    """Return hashes as arrays."""
    return np.frombuffer(hashes, ">u8").reshape(-1, 2).astype(np.uint64)


def packed(hashes: KeptHashes) -> bytes:
    """Return hashes one after the other."""
    return hashes.astype(">u8").tobytes()


def order(hashes: KeptHashes) -> npt.NDArray[np.int64]:
    """The positions of hashes in their order."""
    first = hashes[:, 0]
    by_first = np.argsort(first)
    in_order = first[by_first]
    if np.any(in_order[1:] == in_order[:-1]):
        return np.lexsort((hashes[:, 1], first))
    return by_first


def joined(parts: Sequence[KeptHashes]) -> KeptHashes:
    """Join hashes; the result of no parts is empty."""
    return np.concatenate([NO_HASHES, *parts])
