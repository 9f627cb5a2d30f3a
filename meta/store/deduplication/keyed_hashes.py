"""Deduplication keys as they are kept: keyed hashes of 16 bytes, as arrays of two numbers each.

A Bloom filter tells which of them one run may have.
"""

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from meta.store.deduplication.sorted_runs import FILTER_BYTES
from meta.store.deduplication.windows import SECRET_BYTES
from segments.deduplication import HASH_BYTES

# A row for each hash: its first 8 bytes and its last, as big-endian numbers.
KeptHashes: TypeAlias = npt.NDArray[np.uint64]
# Their first 8 bytes.
Halves: TypeAlias = npt.NDArray[np.uint64]
# With 4 of 16 bits a deduplication key, in one word, 5 of 1,000 other deduplication keys seem
# present.
_PROBE_BITS, _PROBES = 6, 4
# Sizes of an array's element in Postgres' binary form: its length, and the hash.
_ELEMENT_BYTES, _LENGTH_BYTES, _HALF_BYTES = 20, 4, 8
NO_HASHES: KeptHashes = np.empty((0, 2), np.uint64)


def keyed(secret: bytes, hashes: bytes) -> KeptHashes:
    """Hash hashes of 16 bytes each with the secret of their dataset."""
    if len(secret) == SECRET_BYTES:
        # A permutation of all values of 16 bytes: different hashes stay different, and without the
        # secret nobody can choose one.
        encryptor = Cipher(algorithms.AES(secret), modes.ECB()).encryptor()
        return unpacked(encryptor.update(hashes) + encryptor.finalize())
    hash_of = partial(blake2b, key=secret, digest_size=HASH_BYTES)
    starts = range(0, len(hashes), HASH_BYTES)
    return unpacked(b"".join([hash_of(hashes[at : at + HASH_BYTES]).digest() for at in starts]))


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


class RunFilter:
    """A Bloom filter of one run: 32 bits of a hash name its word, the next ones its bits."""

    def __init__(self, dataset_key: int, deduplication_keys: int) -> None:
        self.dataset_key = dataset_key
        self.num_added = 0
        self._words: Halves = np.zeros(-(-deduplication_keys * FILTER_BYTES // 8), np.uint64)

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        return self._words.nbytes

    def add(self, halves: Halves) -> None:
        """Add the first halves of hashes."""
        np.bitwise_or.at(self._words, self._places(halves), masks_of(halves))
        self.num_added += len(halves)

    def add_elements(self, elements: bytes) -> None:
        """Add hashes that are elements of arrays, as Postgres sends them."""
        each = np.frombuffer(elements, np.uint8).reshape(-1, _ELEMENT_BYTES)
        halves = each[:, _LENGTH_BYTES : _LENGTH_BYTES + _HALF_BYTES]
        self.add(np.ascontiguousarray(halves).view(">u8").ravel().astype(np.uint64))

    def positions(self, halves: Halves, masks: Halves) -> npt.NDArray[np.int64]:
        """The positions of the hashes that may have been added; `masks` are those of the hashes."""
        return np.flatnonzero(self._words[self._places(halves)] & masks == masks)

    def _places(self, halves: Halves) -> npt.NDArray[np.int64]:
        high = halves >> np.uint64(32)
        return (high * np.uint64(len(self._words)) >> np.uint64(32)).astype(np.int64)


def masks_of(halves: Halves) -> Halves:
    """The bits of hashes in their words, by their first halves."""
    masks = np.zeros(len(halves), np.uint64)
    for probe in range(_PROBES):
        bits = halves >> np.uint64(probe * _PROBE_BITS) & np.uint64(63)
        masks |= np.uint64(1) << bits
    return masks
