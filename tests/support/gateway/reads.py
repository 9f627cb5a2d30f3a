"""Reads of segments in a bucket, as they pass a proxy: requests, bytes, footers and row groups."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO

import pyarrow.parquet as pq

from tests.support.object_store.faulty_proxy import Forward, ProxyAnswer, Request

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
# A read that reaches the end of a file is for its footer, and begins so far before that: readers do
# not know how long it is. What such a read brings of row groups nobody asked for.
FOOTER_BYTES_MAX = 65_536
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
        """Requests that reached a footer, different objects, and row groups that reads touched.

        The first request for a small file reaches its footer and brings all of it.
        """
        footers = row_groups = 0
        for path, spans in self.spans.items():
            (content,) = (body for key, body in self.files.items() if path.endswith(key))
            end_of_file = len(content) - 1
            footers += sum(end == end_of_file for _, end in spans)
            ends = [_inner_end(end, end_of_file) for _, end in spans]
            inner = [
                (start, end) for (start, _), end in zip(spans, ends, strict=True) if start <= end
            ]
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


def _inner_end(end: int, end_of_file: int) -> int:
    return end if end < end_of_file else end_of_file - FOOTER_BYTES_MAX


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
