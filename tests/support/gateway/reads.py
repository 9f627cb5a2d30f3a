"""Reads of segments in a bucket, as they pass a proxy: requests, bytes, footers and row groups."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO

import pyarrow.parquet as pq

from tests.support.object_store.faulty_proxy import Forward, ProxyAnswer, Request

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
# A file ends with the length of its footer and the letters PAR1.
_TAIL_BYTES = 8
Span = tuple[int, int]


@dataclass
class Reads:
    """Reads that passed; what they touched follows from the files."""

    # Contents of all segments, by key.
    files: Mapping[str, bytes]
    requests: int = 0
    bytes: int = 0
    # By path, first and last byte of each read.
    spans: dict[str, list[Span]] = field(default_factory=dict)

    def pass_on(self, request: Request, forward: Forward) -> ProxyAnswer:
        """Count a request on its way."""
        reply = forward(request)
        path = request.target.partition("?")[0]
        if request.method == "GET" and path.endswith(".parquet"):
            self.requests += 1
            self.bytes += len(reply.body)
            self.spans.setdefault(path, []).append(_span(reply))
        return reply

    def shown(self) -> dict[str, int]:
        """Requests that reached a footer, and different objects and row groups of the others.

        The first request for a small file reaches its footer and brings all of it.
        """
        footers = row_groups = 0
        for path, spans in self.spans.items():
            (content,) = (body for key, body in self.files.items() if path.endswith(key))
            inner = [one for one in spans if one[1] < len(content) - _TAIL_BYTES]
            footers += len(spans) - len(inner)
            row_groups += sum(
                any(first <= end and last >= start for first, last in inner)
                for start, end in _row_groups(content)
            )
        return {
            "requests": self.requests,
            "bytes": self.bytes,
            "objects": len(self.spans),
            "footers": footers,
            "row groups": row_groups,
        }


def _span(reply: ProxyAnswer) -> Span:
    headers = {name.lower(): value for name, value in reply.headers}
    found = _RANGE.fullmatch(headers.get("content-range", ""))
    return (int(found[1]), int(found[2])) if found else (0, len(reply.body) - 1)


def _row_groups(content: bytes) -> list[Span]:
    metadata = pq.read_metadata(BytesIO(content))
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        starts = [one.dictionary_page_offset or one.data_page_offset for one in columns]
        ends = [
            start + one.total_compressed_size for start, one in zip(starts, columns, strict=True)
        ]
        groups.append((min(starts), max(ends) - 1))
    return groups
