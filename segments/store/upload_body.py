"""Content of an object to write, readable from the start as often as needed, and its checksum."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import google_crc32c

PART_BYTES = 16 << 20
PARTS_MAX = 10_000

CRC_NAME = "crc32c"  # The object's metadata: CRC-32C of all its bytes, as crc_text gives it.


def crc_text(value: int) -> str:
    """A checksum as 8 hex digits."""
    return f"{value:08x}"


@dataclass(frozen=True, slots=True)
class UploadBody:
    """Bytes to write, readable from the start as often as needed."""

    size_bytes: int
    open: Callable[[], BinaryIO]

    @classmethod
    def of_bytes(cls, body: bytes) -> "UploadBody":
        """Bytes in memory."""
        return cls(len(body), lambda: io.BytesIO(body))

    @classmethod
    def of_file(cls, path: Path) -> "UploadBody":
        """A local file that is not written to during the upload."""
        return cls(path.stat().st_size, lambda: path.open("rb"))

    def parts(self) -> Iterator[bytes]:
        """The bytes in pieces fit for an upload in parts."""
        size_bytes = max(PART_BYTES, -(-self.size_bytes // PARTS_MAX))
        with self.open() as source:
            while piece := source.read(size_bytes):
                yield piece

    def crc(self) -> str:
        """The checksum that goes with the object."""
        value = 0
        for piece in self.parts():
            value = google_crc32c.extend(value, piece)
        return crc_text(value)
