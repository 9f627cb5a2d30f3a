"""Location of the objects: read from meta at start, and again when its configuration changes."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import structlog

from meta.client import MetaClient, location
from meta.errors import MetaError
from meta.process.shutdown import Shutdown, every
from meta.self_report import SelfReport
from meta.v1 import common_pb2, ingestion_pb2, status_pb2
from segments.keys import store_of
from segments.location import NamedStore, StoreLocation, Stores

log = structlog.get_logger()
RETRY_SECS = 1.0
# How long a process uses meta's last answer.
ASK_EVERY_SECS = 30.0
_DEADLINE_SECS = 10.0


@dataclass(frozen=True, slots=True)
class MetaLocation:
    """Location of the objects at one version of meta's configuration."""

    config_version: str
    bucket: common_pb2.CloudBucket
    store: StoreLocation
    # Settings that operators keep for the calling process.
    worker_settings: common_pb2.WorkerSettings
    named_stores: tuple[NamedStore, ...] = ()

    @property
    def stores(self) -> Stores:
        """All stores of objects."""
        return Stores(self.store, self.named_stores)

    def bucket_of(self, key: str) -> common_pb2.CloudBucket:
        """The store that a key names, as meta's messages say it. Raises StoreUnknown."""
        if not (name := store_of(key)):
            return self.bucket
        return common_pb2.CloudBucket(**asdict(self.stores.get(name)))


def ask_location(
    client: MetaClient,
    worker_id: str,
    deadline_secs: float = _DEADLINE_SECS,
    report: status_pb2.ProcessReport | None = None,
) -> MetaLocation:
    """Ask meta for the location of the objects, with a report of the process; raises MetaError."""
    # An empty one distinguishes it from a process of a release that does not report.
    said = status_pb2.ProcessReport() if report is None else report
    request = ingestion_pb2.DownloadConfigRequest(
        worker_id=worker_id, omit_datasets=True, report=said
    )
    reply = client.ingestion.DownloadConfig(request, timeout=deadline_secs)
    bucket = reply.cloud_object_prefix.bucket
    stores = tuple(NamedStore(store.name, location(store.bucket)) for store in reply.named_stores)
    return MetaLocation(
        reply.config_version, bucket, location(bucket), reply.worker_settings, stores
    )


class Locator:
    """One process's knowledge of the objects' location; safe for many threads.

    `override` is the process's OBJECT_STORE_URL, which wins over what meta says.
    """

    def __init__(
        self,
        client: MetaClient,
        worker_id: str,
        override: StoreLocation | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self._worker_id = worker_id
        self._override = override
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: MetaLocation | None = None
        self._asked_at = float("-inf")
        # The process as it reports itself when it asks; None = it does not.
        self.report: SelfReport | None = None

    @property
    def known(self) -> MetaLocation:
        """The last answer of meta, which must have been asked before."""
        assert self._known is not None, "meta was not asked yet"
        return self._known

    @property
    def worker_settings(self) -> common_pb2.WorkerSettings:
        """Settings of this process in meta; none as long as meta was not asked."""
        return common_pb2.WorkerSettings() if self._known is None else self._known.worker_settings

    @property
    def store_location(self) -> StoreLocation:
        """The default store, as this process uses it."""
        return self._override or self.known.store

    @property
    def stores(self) -> Stores:
        """All stores, as this process uses them; its override is of the default one."""
        return Stores(
            self.store_location, self._known.named_stores if self._known is not None else ()
        )

    def wait(self, shutdown: Shutdown) -> bool:
        """Ask until meta answers; false on shutdown."""
        for _ in every(RETRY_SECS, shutdown):
            try:
                self.ask()
            except MetaError as error:
                log.warning("waiting_for_meta", meta_address=self.client.target, error=str(error))
            else:
                return True
        return False

    def refresh(self, deadline_secs: float = _DEADLINE_SECS) -> None:
        """Ask if the last answer is too old; raises MetaError."""
        if self._monotonic() - self._asked_at >= ASK_EVERY_SECS:
            self.ask(deadline_secs)

    def ask(self, deadline_secs: float = _DEADLINE_SECS) -> None:
        """Ask meta now; raises MetaError."""
        report = self.report.message() if self.report is not None else None
        answer = ask_location(self.client, self._worker_id, deadline_secs, report)
        with self._lock:
            former, self._asked_at = self._known, self._monotonic()
            if former is not None and former.config_version == answer.config_version:
                return
            self._known = answer
        if former is not None and former.store != answer.store:
            log.warning("objects_moved", was=former.store.url(), now=answer.store.url())
        if former is not None and former.named_stores != answer.named_stores:
            log.info("named_stores_changed", stores=[store.name for store in answer.named_stores])
