"""gzip and zstd bodies, bombs among them."""

import gzip
import tracemalloc

import pytest
import zstandard

from collector.refusal import Refused
from collector.servers.decompress import DECOMPRESSORS
from meta.errors import Code

MIB = 1024 * 1024
COMPRESSORS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}
encodings = pytest.mark.parametrize("encoding", ["gzip", "zstd"])


@encodings
@pytest.mark.parametrize("plain", [b"", b"x", b"abc" * 10_000], ids=["empty", "one", "more"])
def test_a_body_comes_back(encoding: str, plain: bytes) -> None:
    assert DECOMPRESSORS[encoding](COMPRESSORS[encoding](plain), 30_000) == plain


@encodings
def test_members_that_follow_one_another_are_one_body(encoding: str) -> None:
    body = COMPRESSORS[encoding](b"ab") + COMPRESSORS[encoding](b"cd")

    assert DECOMPRESSORS[encoding](body, 4) == b"abcd"


@encodings
def test_one_byte_over_the_limit_is_too_large(encoding: str) -> None:
    with pytest.raises(Refused) as caught:
        DECOMPRESSORS[encoding](COMPRESSORS[encoding](b"x" * 11), 10)

    assert caught.value.refusal.code is Code.RESOURCE_EXHAUSTED
    assert caught.value.refusal.retry_after_secs is None


@encodings
def test_a_bomb_never_takes_more_memory_than_the_limit(encoding: str) -> None:
    bomb = COMPRESSORS[encoding](bytes(200 * MIB))
    tracemalloc.start()

    with pytest.raises(Refused):
        DECOMPRESSORS[encoding](bomb, 4 * MIB)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * MIB


@encodings
@pytest.mark.parametrize("damage", ["cut", "garbage", "tail"])
def test_a_damaged_body_is_malformed(encoding: str, damage: str) -> None:
    body = COMPRESSORS[encoding](b"some text that is long enough" * 9)
    bodies = {"cut": body[:-6], "garbage": b"nonsense", "tail": body + b"nonsense"}

    with pytest.raises(Refused) as caught:
        DECOMPRESSORS[encoding](bodies[damage], MIB)

    assert caught.value.refusal.code is Code.INVALID_ARGUMENT
