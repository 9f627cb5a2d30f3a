"""A dataset that is deleted and created again under its name, while gateways know the old one."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fastavro
import pytest

from meta.config import Settings
from segments.keys import parse_key
from segments.store.open import open_store
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import FaultyProxy
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.waiting import wait_until

TOKEN = "the-token-of-this-gateway"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}
VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}
ROLE = "arn:aws:iam::123456789012:role/readers"
GENERATIONS = 4


def recreate(segments: SegmentWriter, files: int) -> SegmentWriter:
    """Delete the dataset, and create another one of its name with so many segments."""
    assert delete(segments.client, segments.dataset)
    fresh = replace(segments, dataset=CatalogDriver(segments.client).dataset("web"), files=0)
    for _ in range(files):
        fresh.write(rows=2)
    return fresh


@dataclass
class Poller:
    """Loads a table again and again, and the files of every snapshot that an answer lists."""

    gateway: GatewayServer
    root: str
    # Datasets of the table and of its files, by number of answers.
    seen: list[tuple[str, set[str]]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self._poll()
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self.error = error

    def _poll(self) -> None:
        answer = self.gateway.table()
        if answer.status != 200:
            self.refused.append((answer.status, answer.message))
            return
        table = answer.json["metadata"]
        owners = {self._owner(answer.json["metadata-location"])}
        for snapshot in table["snapshots"]:
            owners.add(self._owner(snapshot["manifest-list"]))
            for manifest in _records(snapshot["manifest-list"]):
                owners.add(self._owner(manifest["manifest_path"]))
                entries = _records(manifest["manifest_path"])
                owners |= {self._owner(one["data_file"]["file_path"]) for one in entries}
        self.seen.append((table["table-uuid"], owners))

    def _owner(self, url: str) -> str:
        key = parse_key(url.removeprefix(self.root))
        return str(getattr(key, "dataset_id", url))


def _records(url: str) -> list[Any]:
    with Path(url.removeprefix("file://")).open("rb") as file:
        return list(fastavro.reader(file))


@contextmanager
def polling(gateways: list[GatewayServer], root: str) -> Iterator[list[Poller]]:
    pollers = [Poller(gateway, root) for gateway in gateways]
    threads = [threading.Thread(target=one.run, daemon=True) for one in pollers]
    for thread in threads:
        thread.start()
    try:
        yield pollers
    finally:
        for poller in pollers:
            poller.ended.set()
        for thread in threads:
            thread.join(60)


@pytest.mark.long
def test_two_gateways_show_the_old_table_or_the_new_one_and_never_both(
    segments: SegmentWriter, meta_server: MetaServer, gateway: GatewayServer
) -> None:
    second = GatewayServer(meta_server.address, refresh_secs=0.3)
    root = f"file:///{meta_server.settings.location.path}/"
    datasets = [segments.dataset]
    try:
        segments.write(rows=2)
        with polling([gateway, second], root) as pollers:
            for poller in pollers:
                _wait_for(poller, segments.dataset)
            for number in range(GENERATIONS):
                version = gateway.table().json["metadata"]["current-snapshot-id"]
                segments = recreate(segments, files=number + 2)
                datasets.append(segments.dataset)
                for poller in pollers:
                    _wait_for(poller, segments.dataset)
                old = gateway.table(f"web@{version}")
                # The version of the old one, which has its name then, or a clear end.
                if old.status == 200:
                    assert old.json["metadata"]["table-uuid"] == datasets[-2]
                else:
                    assert old.status in (400, 404)
                    assert "web" in old.message
        wait_until(
            lambda: {files_of(one) for one in (gateway, second)} == {segments.files},
            "all files are shown",
        )
    finally:
        second.close()

    for poller in pollers:
        assert poller.error is None
        assert [one for one in poller.seen if {one[0]} != one[1]] == []
        # Each after the other, and none comes back.
        order = [uuid for uuid, _ in poller.seen]
        assert sorted(order, key=datasets.index) == order
        assert set(order) == set(datasets)
        assert {status for status, _ in poller.refused} <= {400, 404}
        assert all("web" in message for _, message in poller.refused)


def files_of(gateway: GatewayServer) -> int:
    """The number of files of the table."""
    summary = gateway.table().json["metadata"]["snapshots"][-1]["summary"]
    return int(summary["total-data-files"])


def _wait_for(poller: Poller, dataset: str) -> None:
    wait_until(
        lambda: poller.error is not None or dataset in {uuid for uuid, _ in poller.seen[-1:]},
        "the new table is shown",
    )


class TestKeysOfTables:
    """Access to the objects of a bucket."""

    @pytest.fixture
    def meta_settings(
        self, meta_settings: Settings, s3_endpoint: str, aws_credentials: None
    ) -> Settings:
        return replace(meta_settings, location=fresh_location(s3_endpoint))

    @pytest.fixture
    def gateways(
        self, meta_server: MetaServer, proxy: FaultyProxy
    ) -> Iterator[tuple[GatewayServer, GatewayServer]]:
        """One that asks meta often, and one that remembers for long."""
        access = AccessSettings(ACCESS_KEY, SECRET_KEY, ROLE, proxy.url, 900)
        with ExitStack() as stack:
            both = []
            for secs in (0.3, 60.0):
                one = GatewayServer(
                    meta_server.address, auth_token=TOKEN, access=access, refresh_secs=secs
                )
                stack.callback(one.close)
                both.append(one)
            yield both[0], both[1]

    @pytest.mark.long
    def test_keys_are_of_the_dataset_that_the_table_is(
        self, gateways: tuple[GatewayServer, GatewayServer], segments: SegmentWriter
    ) -> None:
        """Also while a gateway knows another one by the name."""
        gateway = gateways[0]
        segments.write(rows=2)
        given = {}
        for _ in range(GENERATIONS):
            loaded = gateway.table(**KNOWN, **VENDED).json
            given[segments.dataset] = {loaded["config"]["s3.access-key-id"]}
            segments = recreate(segments, files=1)
            until = time.monotonic() + 30.0
            uuid = ""
            while uuid != segments.dataset:
                assert time.monotonic() < until
                loaded = gateway.table(**KNOWN, **VENDED).json
                uuid = loaded["metadata"]["table-uuid"]
                given.setdefault(uuid, set()).add(loaded["config"]["s3.access-key-id"])

        assert all(len(keys) == 1 for keys in given.values())
        assert len(set.union(*given.values())) == len(given) == GENERATIONS + 1

    def test_reads_of_a_new_table_are_signed_by_a_gateway_that_knows_the_old_one(
        self,
        gateways: tuple[GatewayServer, GatewayServer],
        segments: SegmentWriter,
        meta_settings: Settings,
    ) -> None:
        quick, slow = gateways
        location = meta_settings.location
        base = f"{location.endpoint}/{location.bucket}/{location.path}"
        store = open_store(location)

        def sign(gateway: GatewayServer, dataset: str) -> tuple[int, str]:
            key = next(one.key for one in store.list(f"dataset/{dataset}/"))
            body = {"method": "GET", "uri": f"{base}/{key}", "region": "us-east-1", "headers": {}}
            answer = gateway.post("iceberg/v1/namespaces/default/tables/web/sign", body, **KNOWN)
            return answer.status, "" if answer.status == 200 else answer.message

        segments.write(rows=2)
        old = segments.dataset
        assert [sign(one, old)[0] for one in gateways] == [200, 200]
        fresh = recreate(segments, files=1)
        wait_until(
            lambda: quick.table(**KNOWN).json["metadata"]["table-uuid"] == fresh.dataset,
            "the new table is shown",
        )

        # Long before it forgets what the name meant.
        wait_until(lambda: sign(slow, fresh.dataset)[0] == 200, "reads are signed", seconds=20.0)

        wait_until(lambda: sign(quick, old)[0] == 403, "the old table is at its end")
        for gateway in gateways:
            status, message = sign(gateway, old)
            assert status == 403
            assert "load the table again" in message
