"""An installation of a release that a recording runs: its processes, senders and waits."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any
from urllib.request import urlopen

from segments.v1.combined_signals_pb2 import CombinedSignals
from tests.support.pipeline.sending import (
    GrpcSender,
    HttpSender,
    Signal,
    exports,
    make_records,
)
from tests.support.releases.client import DescribedClient
from tests.support.releases.processes import ReleaseProcess, run_command, running
from tests.support.releases.release import Release
from tests.support.waiting import wait_until

# The token of an administrator; META_AUTH_TOKEN of the recording.
ADMIN = "recorded-administrator"
# Five minutes before a UTC day ends: records of one export belong to two days.
START_NANOS = 1_795_218_900 * 10**9
TABLE = "/iceberg/v1/namespaces/default/tables/"
# Name of the store beside the default one, and of its folder.
COLD = "cold"
EVERYTHING: dict[Signal, str] = {"logs": "web", "metrics": "web", "traces": "web"}


@dataclass
class Installation:
    """Processes of an environment over one meta and one folder of objects.

    `sent` are the acknowledged records, as they are kept in the repository, and `payments` those of
    the typed dataset.
    """

    release: Release
    python: Path
    folder: Path
    meta: ReleaseProcess
    stack: ExitStack
    sent: list[dict[str, Any]] = field(default_factory=list)
    payments: list[dict[str, Any]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Address of meta."""
        return f"127.0.0.1:{self.meta.port}"

    @property
    def objects(self) -> Path:
        """The object store."""
        return self.folder / "objects"

    def client(self, token: str) -> DescribedClient:
        """Open a client of a caller, made from the release's descriptors."""
        return DescribedClient(self.release, self.address, token)

    def start(self, module: str, token: str, **settings: str) -> ReleaseProcess:
        """Start a process with an access token; names of settings are without the prefix."""
        prefix = f"{module.rpartition('.')[2].upper()}_"
        own = {"META_ADDRESS": self.address, "META_AUTH_TOKEN": token, **settings}
        named = {prefix + name: value for name, value in own.items()}
        return self.stack.enter_context(running(self.python, module, self.folder, **named))

    def start_collector(self, token: str, collector_id: str, **settings: str) -> ReleaseProcess:
        """Start a collector on free ports and wait until it takes exports."""
        binds = {"GRPC_BIND": "127.0.0.1:0", "HTTP_BIND": "127.0.0.1:0"}
        collector = self.start("collector", token, ID=collector_id, **binds, **settings)
        collector.wait_for("ready")
        return collector

    def command(self, *arguments: str) -> str:
        """Run a command of the release as an administrator."""
        settings = {"SEGPLANE_META_ADDRESS": self.address, "SEGPLANE_META_AUTH_TOKEN": ADMIN}
        return run_command(self.release, *arguments, **settings)

    def load_table(self, token: str, name: str, **settings: str) -> None:
        """Let a gateway publish a dataset as an Iceberg table."""
        gateway = self.start("segplane.gateway", token, BIND="127.0.0.1:0", **settings)
        with urlopen(f"http://127.0.0.1:{gateway.port}{TABLE}{name}", timeout=60) as reply:
            assert reply.status == 200
        gateway.stop()

    def files(self, root: str) -> list[Path]:
        """Paths of the objects below a root."""
        return sorted(path for path in (self.objects / root).rglob("*") if path.is_file())


@contextmanager
def installation(release: Release, database_url: str, folder: Path) -> Iterator[Installation]:
    """Run meta of a release over `folder/objects`; what else is started ends with it."""
    settings = meta_settings(database_url, folder / "objects")
    with ExitStack() as stack:
        meta = stack.enter_context(running(release.python, "meta", folder, **settings))
        yield Installation(release, release.python, folder, meta, stack)


def meta_settings(database_url: str, objects: Path) -> dict[str, str]:
    """Settings of the recorded meta. A folder beside the objects is its second store."""
    cold = objects.with_name(COLD)
    stores = {"META_OBJECT_STORES": f"{COLD}={cold.as_uri()}"} if cold.is_dir() else {}
    return stores | {
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": objects.as_uri(),
        "META_AUTH_TOKEN": ADMIN,
        "META_REQUIRE_AUTHENTICATION": "true",
        "META_FLUSH_TIMEOUT_MS": "50",
        # A day with four segments has something to merge.
        "META_MERGE_FILES_MAX": "3",
        # A dataset without a grace of its own gives its merged baby segments up at once.
        "META_UNSAFE_SHORT_GRACE": "true",
        "META_TOMBSTONE_GRACE_SECS": "1",
        "META_THREADS": "8",
    }


@dataclass(frozen=True, slots=True)
class Sender:
    """A client of a collector with an ingest token, whose signals go to datasets by name."""

    run: Installation
    collector: ReleaseProcess
    token: str
    datasets: dict[Signal, str]

    def send(self, seed: str, count: int, *, is_http: bool = False, is_kept: bool = True) -> None:
        """Send records, one export a signal, each until it is acknowledged.

        `is_kept` is false for records that are about to be lost on purpose.
        """
        ports = self.collector.wait_for("listening")
        client = (
            HttpSender(f"127.0.0.1:{ports['http_port']}", self.token)
            if is_http
            else GrpcSender(f"127.0.0.1:{ports['grpc_port']}", self.token)
        )
        for signal, dataset in self.datasets.items():
            records = make_records(signal, count, seed, START_NANOS)
            # Messages one after the other are one message with the resources of all.
            payload = b"".join(part for _, part in exports(records))
            wait_until(partial(client.send, signal, payload), f"{seed} is acknowledged")
            if is_kept:
                self.run.sent += [{"dataset": dataset, **asdict(record)} for record in records]

    def send_damaged(
        self, nursery: ReleaseProcess, seed: str, *, damage: Callable[[bytes, bytes], bytes]
    ) -> None:
        """Send a record whose baby segment is damaged before the nursery reads it.

        `damage` changes the bytes of a baby segment that holds a text.
        """
        known = set(self.run.files("quarantine"))
        nursery.signal(SIGSTOP)
        try:
            self.send(seed, 1, is_kept=False)
            text = make_records("logs", 1, seed, START_NANOS)[0].text.encode()
            babies = self.run.files("ingest-stream")
            (path,) = (path for path in babies if text in path.read_bytes())
            path.chmod(0o644)
            path.write_bytes(damage(path.read_bytes(), text))
        finally:
            nursery.signal(SIGCONT)
        wait_until(lambda: len(set(self.run.files("quarantine")) - known) == 2, "quarantined")


def spoil_text(baby: bytes, text: bytes) -> bytes:
    """Change a record's text by more than one bit: only the other payloads are recovered."""
    return baby.replace(text, text.upper())


def spoil_stamps(baby: bytes, text: bytes) -> bytes:
    """Change the checksum of the stamps: nothing of the baby segment is trusted."""
    assert text in baby
    message = CombinedSignals.FromString(baby)
    message.stamp.stamps_crc32c ^= 0xFFFF
    return message.SerializeToString()


def wait_until_merged(admin: DescribedClient) -> None:
    """Wait until segments hold every committed record."""
    wait_until(
        lambda: all(map(_is_merged, _streams(admin))), "merged by the nursery", poll_secs=0.2
    )


def wait_for_merge(admin: DescribedClient, dataset: str) -> None:
    """Wait until a live segment of a dataset is the output of a merge task."""
    request = {"dataset_names": [dataset]}

    def is_compacted() -> bool:
        reply = admin.call("SegmentLookupService.FindSegments", request)
        return any(segment.get("merge_count") for segment in reply["segments"])

    wait_until(is_compacted, "compacted by a merge worker", poll_secs=0.2)


def _streams(admin: DescribedClient) -> list[dict[str, Any]]:
    reply = admin.call("NurseryService.GetIngestStreamsForNursery")
    streams: list[dict[str, Any]] = reply.get("streams", [])
    return streams


def _is_merged(stream: dict[str, Any]) -> bool:
    committed = int(stream.get("committed_offset", 0))
    return all(int(e.get("merged_offset", 0)) == committed for e in stream.get("datasets", []))
