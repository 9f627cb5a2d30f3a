"""One sample of a running stack: memory, files, connections, backlog and leftovers."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from benchmarks.harness.processes import tree
from benchmarks.soak.stack import SoakStack
from meta.client import MetaClient
from meta.v1.janitor_pb2 import ListMergeTasksRequest
from meta.v1.nursery_pb2 import GetIngestStreamsRequest
from segments.keys import AttemptKey, MergedKey, parse_key
from segments.store.folder import TEMPORARY_FOLDER

CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
WATCH_SECS = 1.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """Babies that are committed and not merged, and merge tasks that are open."""

    babies: int
    tasks: int


def read_backlog(client: MetaClient) -> Backlog:
    """Ask meta."""
    reply = client.nursery.GetIngestStreamsForNursery(GetIngestStreamsRequest())
    babies = sum(
        stream.committed_offset - min((d.merged_offset for d in stream.datasets), default=-1)
        for stream in reply.streams
        if stream.datasets
    )
    tasks = client.janitor.ListMergeTasks(ListMergeTasksRequest()).tasks
    return Backlog(babies, len(tasks))


class Probe:
    """Takes samples; holds one connection to Postgres, which each of them counts."""

    def __init__(self, soak: SoakStack, client: MetaClient) -> None:
        self._soak = soak
        self._client = client
        self._database = psycopg.connect(soak.postgres_url, autocommit=True)

    def close(self) -> None:
        """Give the connection back."""
        self._database.close()

    def sample(self) -> dict[str, float]:
        """Figures by name; the part before the dot is the kind."""
        values: dict[str, float] = {}
        roots = {name: child.pid for name, child in self._soak.stack.children.items()}
        for name, root in {**roots, "postgres": self._soak.postgres_pid}.items():
            if root is not None:
                pids = tree(root)
                values[f"memory.{name}"] = sum(map(_memory_bytes, pids))
                values[f"files.{name}"] = sum(map(_open_files, pids))
        row = self._database.execute(CONNECTIONS).fetchone()
        assert row is not None
        values["connections"] = float(row[0])
        backlog = read_backlog(self._client)
        values["backlog.babies"] = backlog.babies
        values["backlog.tasks"] = backlog.tasks
        values["temporary.work"] = _count_files(self._soak.tmp_dir)
        values["temporary.store"] = _count_files(self._soak.objects_dir / TEMPORARY_FOLDER)
        values["objects.babies"] = _count_files(self._soak.objects_dir / "ingest-stream")
        values["objects.quarantine"] = _count_files(self._soak.objects_dir / "quarantine")
        # Live ones become more with the data: shown, not judged.
        values["segments"] = _count_files(self._soak.objects_dir / "dataset")
        return values


class WrittenBytes:
    """Counts every segment object that ever was in the store, from enter to exit.

    A tombstoned object stays for a grace that is many times as long as the pause between two looks.
    """

    def __init__(self, objects_dir: Path) -> None:
        self._root = objects_dir
        self._sizes: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    @property
    def nursery_bytes(self) -> int:
        """Bytes of what the nursery wrote."""
        return sum(s for key, s in self._seen() if isinstance(parse_key(key), MergedKey))

    @property
    def merged_bytes(self) -> int:
        """Bytes of what merges wrote, attempts that came to nothing included."""
        return sum(s for key, s in self._seen() if isinstance(parse_key(key), AttemptKey))

    def _seen(self) -> list[tuple[str, int]]:
        return list(self._sizes.items())

    def _run(self) -> None:
        while not self._stop.wait(WATCH_SECS):
            self._look()

    def _look(self) -> None:
        for path in _files(self._root / "dataset"):
            key = str(path.relative_to(self._root))
            if key not in self._sizes:
                with suppress(OSError):
                    self._sizes[key] = path.stat().st_size


def _memory_bytes(pid: int) -> int:
    """The process's share of memory: pages that n processes share count for an nth in each."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _open_files(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


def _count_files(folder: Path) -> int:
    return sum(1 for _ in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    # os.walk takes it well that folders vanish while it looks.
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent, name)
