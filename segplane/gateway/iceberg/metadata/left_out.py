"""Objects that clients registered and that tables lack, as Iceberg readers cannot read them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from segplane.gateway.http import metrics
from segplane.gateway.iceberg.metadata.contents import Contents
from segplane.gateway.iceberg.metadata.documents import LEFT_OUT_MAX

log = structlog.get_logger()
_VERSIONS_MAX = 1_000


def sentences(contents: Contents) -> list[str]:
    """Return a sentence for each object, count it, and say the first of them in the log."""
    texts = [str(item) for item in contents.left_out]
    metrics.LEFT_OUT_SEGMENTS.inc(len(texts))
    for sentence in texts[:LEFT_OUT_MAX]:
        log.warning("segment_left_out", dataset=contents.dataset_name, text=sentence)
    return texts


class LeftOutVersions:
    """Sentences about what published versions lack, of those read last; safe for many threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], Sequence[str]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, dataset_id: str, version: int) -> Sequence[str] | None:
        """Return the sentences, None if they are not known."""
        with self._lock:
            return self._known.get((dataset_id, version))

    def keep(self, dataset_id: str, version: int, contents: Contents) -> Sequence[str]:
        """Keep and return the sentences."""
        texts = sentences(contents)
        with self._lock:
            self._known[dataset_id, version] = texts
            while len(self._known) > _VERSIONS_MAX:
                self._known.popitem(last=False)
        return texts
