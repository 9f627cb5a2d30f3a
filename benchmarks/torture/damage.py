"""Damages objects and the database of a system, and repairs them by the commands of operators."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.torture.records import Ledger, ids_of, key_of, read_ids, segment_ids
from benchmarks.torture.world import TortureFailed, World
from dataplane.stream_poll import read_streams
from meta.errors import MetaError
from meta.v1.nursery_pb2 import IngestStreamInfo
from meta.v1.operations_pb2 import GetServerStateRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.baby import Baby, decode_baby
from segments.errors import SegmentsError
from segments.keys import baby_key, quarantine_key
from segplane.read.lookup import find_all

WAIT_SECS_MAX = 600.0
# Ingest, merges and deletions that a copy of the database does not know.
AFTER_COPY_SECS = (20.0, 60.0)
ALL = ("dev", "meta", "collector", "nursery", "merge_worker", "janitor", "postgres")


@dataclass(frozen=True, slots=True)
class _Baby:
    """A committed baby segment that no dataset has merged."""

    stream_id: str
    offset: int
    path: Path
    body: bytes
    content: Baby


class Damages:
    """Damages of four kinds; `done` names those that were repaired."""

    def __init__(self, world: World, ledger: Ledger, rng: random.Random, spared: set[str]) -> None:
        self._world = world
        self._ledger = ledger
        self._rng = rng
        self._spared = spared
        self._objects = world.folder / "data" / "objects"
        self.done: list[str] = []
        # The last answer of `catalog reconcile`.
        self.last_report = ""

    def skip_a_baby(self) -> None:
        """Remove a baby segment, and skip it once its stream is parked."""
        with self._nursery_held():
            baby = self._unmerged()
            if baby is None:
                return
            baby.path.unlink()
        if not self._wait(lambda: self._is_passed(baby) or self._is_parked(baby)):
            raise TortureFailed(f"the stream {baby.stream_id} is not parked at {baby.offset}")
        if self._is_passed(baby):
            return  # It had been read before it was removed.
        done = self._world.segplane(
            *("streams", "skip", baby.stream_id, str(baby.offset)),
            *("--accept-loss", "--reason", "torture", "--json"),
        )
        self._check(done.returncode, done.stderr)
        lost = {loss["dataset_id"] for loss in json.loads(done.stdout)["losses"]}
        with self._ledger.lock:
            for part in baby.content.parts:
                if part.dataset_id in lost:
                    self._ledger.lost.update(one for s in part.slices for one in ids_of(s))
        self.done.append(f"skipped a baby segment, {len(self._ledger.lost)} records lost")

    def heal_a_payload(self) -> None:
        """Flip bits of a payload, and replay the sound bytes once it is quarantined."""
        with self._nursery_held():
            baby = self._unmerged()
            if baby is None:
                return
            part = baby.content.parts[0]
            sound = part.slices[0]
            start = baby.body.find(sound)
            if start < 0:
                return
            place = start + len(sound) // 2
            damaged = bytearray(baby.body)
            # A single flipped bit would be corrected.
            damaged[place] ^= 3
            baby.path.chmod(0o644)
            baby.path.write_bytes(damaged)
        key = quarantine_key(baby.stream_id, baby.offset, part.token_id, part.signal, 0)
        if not self._wait(lambda: self._is_passed(baby)):
            raise TortureFailed(f"the damaged baby {baby.offset} is not merged")
        if not (self._objects / key).exists():
            return  # It had been read before it was damaged.
        copy = self._world.folder / "sound"
        copy.write_bytes(sound)
        done = self._world.segplane("quarantine", "replay", key, "--file", str(copy))
        # A command that was cut off before its answer has replayed it.
        if "is not in the quarantine" not in done.stderr:
            self._check(done.returncode, done.stderr)
        self.done.append("healed a payload by a replay")

    def hide_a_segment(self) -> None:
        """Remove a segment's object, hide the segment, then let a copy take its place."""
        with self._world.client() as client:
            segments = list(find_all(client, FindSegmentsRequest(limit=1_000)))
        if not segments:
            return
        segment = self._rng.choice(segments)
        path = self._objects / key_of(segment)
        copy = self._world.folder / "copy.parquet"
        try:
            ids = segment_ids(self._world, key_of(segment))
            shutil.copyfile(path, copy)
        except (OSError, SegmentsError):
            return  # Merged and deleted meanwhile.
        with self._ledger.lock:
            self._ledger.hidden.update(ids)
            self._ledger.once_hidden.extend(ids)
        with suppress(FileNotFoundError):
            path.unlink()
        hidden = self._world.segplane(
            *("segments", "hide", segment.id, "--accept-loss", "--reason", "torture")
        )
        if "NOTHING_TO_REPAIR" in hidden.stderr:
            # Merged just before: readers of older versions may still need it.
            shutil.copyfile(copy, path)
        else:
            self._check(hidden.returncode, hidden.stderr)
            time.sleep(2.0)
            done = self._world.segplane("segments", "replace", segment.id, str(copy))
            self._check(done.returncode, done.stderr)
            self.done.append("hid and replaced a segment")
        with self._ledger.lock:
            self._ledger.hidden.difference_update(ids)

    def roll_back(self) -> None:
        """Put an earlier copy of the database back, and bring back what it does not know."""
        copy = self._world.folder / "postgres-copy"
        self._spared.update(ALL)
        try:
            with self._world.stopped() as postgres:
                _copy_folder(postgres, copy)
            self._wait_for_meta()
            self._spared.clear()
            time.sleep(self._rng.uniform(*AFTER_COPY_SECS))
            self._spared.update(ALL)
            with self._world.stopped() as postgres:
                with self._ledger.lock:
                    self._ledger.rollbacks += 1
                shutil.rmtree(postgres)
                _copy_folder(copy, postgres)
            self._wait_for_meta()
        finally:
            self._spared.clear()
        # The rest goes on under kills.
        if not self._wait(self._is_reconciled):
            raise TortureFailed(f"catalog reconcile left something: {self.last_report}")
        with self._ledger.lock:
            expected = self._ledger.acknowledged - self._ledger.lost
        missing = set[str]()

        def is_back() -> bool:
            nonlocal missing
            with suppress(MetaError, SegmentsError, OSError), self._world.client() as client:
                missing = expected - read_ids(self._world, client).keys()
                return not missing
            return False

        if not self._wait(is_back):
            raise TortureFailed(
                f"{len(missing)} did not come back, such as {min(missing, default='')}"
            )
        released = self._world.segplane("deletion", "--release")
        self._check(released.returncode, released.stderr)
        with self._ledger.lock:
            self._ledger.returns = self._ledger.rollbacks
        self.done.append("put the database back and reconciled it")

    def _wait_for_meta(self) -> None:
        def answers() -> bool:
            with suppress(MetaError), self._world.client() as client:
                client.operations.GetServerState(GetServerStateRequest())
                return True
            return False

        if not self._wait(answers):
            raise TortureFailed("meta does not answer after a copy of the database")

    def _is_reconciled(self) -> bool:
        data = str(self._world.folder / "data")
        done = self._world.segplane("catalog", "reconcile", "--data-dir", data, "--json")
        self.last_report = done.stdout + done.stderr
        return done.returncode == 0

    @contextmanager
    def _nursery_held(self) -> Iterator[None]:
        """Stop the nursery, so that a baby segment stays unmerged for a while."""
        self._spared.update(("nursery", "dev"))
        pid = self._world.pids().get("nursery")
        try:
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self._spared.clear()

    def _unmerged(self) -> _Baby | None:
        """A baby segment with records that was committed after the nursery was stopped."""
        before = {stream.stream_id: stream.committed_offset for stream in self._streams()}
        deadline = time.monotonic() + 15.0
        while time.monotonic() < deadline:
            for stream in self._streams():
                # Earlier commits may be in a job that goes on in another process.
                known = before.get(stream.stream_id, stream.committed_offset)
                for offset in range(stream.committed_offset, known, -1):
                    path = self._objects / baby_key(stream.stream_id, offset)
                    if not path.exists():
                        continue
                    body = path.read_bytes()
                    content = decode_baby(body)
                    if content.parts:
                        return _Baby(stream.stream_id, offset, path, body, content)
            time.sleep(0.5)
        return None

    def _streams(self) -> list[IngestStreamInfo]:
        try:
            with self._world.client() as client:
                return list(read_streams(client))
        except MetaError:
            return []

    def _is_passed(self, baby: _Baby) -> bool:
        for stream in self._streams():
            if stream.stream_id == baby.stream_id and stream.datasets:
                return min(e.merged_offset for e in stream.datasets) >= baby.offset
        return False

    def _is_parked(self, baby: _Baby) -> bool:
        done = self._world.segplane("streams", "list")
        return f"parked: {baby.stream_id} at offset {baby.offset} " in done.stdout

    def _wait(self, condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + WAIT_SECS_MAX
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(1.0)
        return True

    def _check(self, code: int, error: str) -> None:
        if code != 0:
            raise TortureFailed(error.strip())


def _copy_folder(source: Path, target: Path) -> None:
    """Copy with owners and modes, which Postgres checks."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
