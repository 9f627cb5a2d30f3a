"""A running stack whose objects are damaged, and repaired by the commands that operators have."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pyarrow.parquet as pq
from click.testing import CliRunner, Result
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from dataplane.object_checks import list_damaged
from dataplane.stream_poll import read_streams
from meta.client import MetaClient
from meta.v1.common_pb2 import SegmentInfo
from segments.location import StoreLocation
from segments.parquet.reader import read_segment
from segments.store.open import open_store
from segplane.__main__ import app
from segplane.stack.dev import Stack
from tests.support.visible_segments import find, key_of, texts
from tests.support.waiting import wait_until


@dataclass
class DamagedStack:
    """A stack and a client of it; `expected` are the texts of all records that must be visible."""

    stack: Stack
    client: MetaClient
    expected: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """Folder of the objects."""
        return self.stack.settings.data_dir / "objects"

    def run(self, *arguments: str) -> Result:
        """Run a command."""
        environment = {"SEGPLANE_META_ADDRESS": self.stack.settings.meta_address}
        return CliRunner().invoke(app, arguments, env=environment)

    def repair(self, *arguments: str) -> str:
        """Run a command until it succeeds, as an operator repeats what is refused for the time."""
        outcomes: list[Result] = []

        def is_done() -> bool:
            outcomes.append(self.run(*arguments))
            return outcomes[-1].exit_code == 0

        self.wait(is_done, f"segplane {' '.join(arguments)}", poll_secs=0.5)
        return outcomes[-1].stdout

    def wait(self, happened: Any, what: str, poll_secs: float = 0.05) -> None:
        """Wait for a condition while the stack is kept running."""
        wait_until(happened, what, tick=self.stack.check, poll_secs=poll_secs)

    def send(self, text: str) -> bytes:
        """Send one record until it is acknowledged; returns the export."""
        request = ExportLogsServiceRequest()
        record = request.resource_logs.add().scope_logs.add().log_records.add()
        record.time_unix_nano = time.time_ns()
        record.body.string_value = text
        body = request.SerializeToString()
        headers = {
            "content-type": "application/x-protobuf",
            "authorization": f"Bearer {self.stack.token}",
        }
        url = f"{self.stack.settings.otlp_http_url}/v1/logs"

        def is_taken() -> bool:
            try:
                with urlopen(Request(url, body, headers), timeout=30) as reply:
                    return bool(reply.status == 200)
            except HTTPError as error:
                if error.code not in (429, 502, 503, 504):
                    raise
            except (URLError, OSError):
                pass  # Not answered: sent again.
            return False

        self.wait(is_taken, f"{text} is acknowledged", poll_secs=0.2)
        self.expected.append(text)
        return body

    def merged(self, text: str) -> None:
        """Send a record and wait until it is in a segment."""
        self.send(text)
        self.wait(self.is_drained, f"{text} is merged")

    def is_drained(self) -> bool:
        """True if every baby is merged."""
        return all(
            entry.merged_offset == stream.committed_offset
            for stream in read_streams(self.client)
            for entry in stream.datasets
        )

    def objects(self, root: str) -> list[Path]:
        """Files of the stored objects below a root."""
        return sorted(path for path in (self.root / root).rglob("*") if path.is_file())

    def baby_with(self, text: str) -> Path:
        """The object of the baby that holds a record."""
        (path,) = (p for p in self.objects("ingest-stream") if text.encode() in p.read_bytes())
        return path

    def segment_with(self, text: str) -> tuple[SegmentInfo, Path]:
        """The live segment that holds a record, and its object."""
        for segment in find(self.client):
            key = key_of(segment)
            if text in read_segment(self._store, key)["logs"]["body"].to_pylist():
                return segment, self.root / key
        raise AssertionError(f"{text} is in no segment")

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Stop a process, so that what is there stays as it is for a while."""
        self.wait(lambda: self.stack.children[name].pid is not None, f"{name} runs")
        pid = self.stack.children[name].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def await_damage(self, segment_id: str) -> None:
        """Wait until the janitor has found a damaged segment."""
        self.wait(
            lambda: segment_id in {one.segment_id for one in list_damaged(self.client)},
            f"the janitor finds segment {segment_id} damaged",
        )

    def losses(self) -> list[dict[str, Any]]:
        """The ledger: what is lost for good."""
        rows: list[dict[str, Any]] = json.loads(self.run("losses", "--json").stdout)
        return [row for row in rows if "withdrawn_version" not in row]

    def assert_whole(self) -> None:
        """Every record that must be there is visible once, and every stored byte is sound."""
        self.wait(self.is_drained, "every baby is merged")
        assert texts(self.client, self._store) == sorted(self.expected)
        checked = self.run("fsck", "--data")
        assert checked.exit_code == 0, checked.stdout + checked.stderr
        rows = self.run("fsck", "--deep")
        assert rows.exit_code == 0, rows.stdout + rows.stderr
        assert "0 violations" in rows.stdout
        assert rows.stdout.count("accepted loss: ") == len(self.losses())

    @property
    def _store(self) -> Any:
        return open_store(StoreLocation.from_url(self.root.as_uri()))


def flip(path: Path, at: int, bits: int = 1) -> bytes:
    """Flip bits of a byte of an object; returns the sound bytes."""
    sound = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(sound[:at] + bytes([sound[at] ^ bits]) + sound[at + 1 :])
    return sound


def flip_in_page(path: Path) -> bytes:
    """Flip a bit of a segment's data, which no reader can overlook; returns the sound bytes."""
    column = pq.read_metadata(path).row_group(0).column(0)
    # A dictionary, if there is one, comes first.
    start = column.dictionary_page_offset or column.data_page_offset
    return flip(path, start + column.total_compressed_size - 1)
