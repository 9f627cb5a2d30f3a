"""Hostile principals: each knows every id, sends anything to every RPC, and has only its role."""

import random
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from meta import roles as role_calls
from meta.client import MetaClient
from meta.errors import RoleRefused
from meta.roles import Role
from meta.store.tables import metadata
from meta.v1 import ingestion_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.fuzzing import FORBIDDEN, Fuzzer, call, reason_of, valid_requests
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.methods import METHODS
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import Writer, segment_of

SECRET = "secret"
# Part of the key of every segment of the dataset that a limited reader may not see.
MARK = "not-for-other-teams"
HUGE_BYTES = 5 * 1024 * 1024
SLOW_CONNECTIONS = 20
CALLERS = 4
# Some calls wait for changes if told to, and these callers are in a hurry.
CALL_SECS = 1.0
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
# A frame of headers that is never completed.
_UNFINISHED = bytes([0, 0, 200, 1, 4, 0, 0, 0, 1]) + b"\x83"
# The server's own jobs write these; the victim's pin is compared by itself.
_BACKGROUND = frozenset({"clock_state", "clock_gaps", "denied_calls", "version_gaps", "pins"})

_DIGEST = "SELECT '{0}', md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {0} t"

Digests = Mapping[str, str]


@dataclass(frozen=True)
class Victim:
    """A dataset, a stream and a pin that belong to others."""

    dataset_id: str
    collector_id: str
    stream_id: str
    pin_id: str
    token: Token
    # Requests that were once right, by method.
    valid: Mapping[str, list[Message]]

    def texts(self) -> list[str]:
        """All that a hostile principal is told."""
        return [self.dataset_id, SECRET, self.collector_id, self.stream_id, self.pin_id]


def live_beside(guard: GuardedServer) -> Victim:
    """Use every call once, then make what the hostile principals are after."""
    admin = guard.admin
    valid = valid_requests(admin)
    catalog = CatalogDriver(admin)
    dataset_id = catalog.dataset(SECRET)
    token = catalog.token(dataset_id)
    with guard.client(Role.INGEST, "victim") as client:
        collector = IngestionDriver(client, "victims-collector")
        stream_id = collector.register(token).stream_id
        for offset in range(3):
            collector.commit(stream_id, offset, dataset_id)
    keys = [f"{MARK}-{uuid4()}.parquet" for _ in range(3)]
    Writer(admin).save(*(segment_of(dataset_id, key=key) for key in keys))
    with guard.client(Role.READER, "victim") as client:
        pin_id = PinDriver(client, "victims-reader").take(SECRET, lease_secs=3_000).id
    return Victim(dataset_id, "victims-collector", stream_id, pin_id, token, valid)


class HostileFuzzer(Fuzzer):
    """Also forges texts of replies, such as cursors, by one character."""

    def _text(self) -> str:
        text = super()._text()
        if text and self.rng.random() < 0.1:
            place = self.rng.randrange(len(text))
            text = text[:place] + self.rng.choice("A_-9z") + text[place + 1 :]
        return text


@dataclass
class Hostile:
    """A principal of one role that attacks a server."""

    guard: GuardedServer
    victim: Victim
    role: Role
    auth_token: str
    is_limited: bool = False
    # Its own ingest token.
    ingest_token: str = ""

    def attack(self, calls: int, seed: int) -> "Counter[str]":
        """Make calls, several at a time; returns the reasons heard. Checks each answer."""
        share = -(-calls // CALLERS)
        with ThreadPoolExecutor(CALLERS) as pool, slow_connections(self.guard):
            parts = pool.map(lambda n: self._calls(share, seed * CALLERS + n), range(CALLERS))
            return sum(parts, Counter())

    def _calls(self, calls: int, seed: int) -> "Counter[str]":
        fuzzer = HostileFuzzer(random.Random(seed), dict(self.victim.valid))
        fuzzer.pool += [*self.victim.texts(), self.ingest_token]
        fuzzer.valid["RegisterForStream"] = [
            ingestion_pb2.RegisterForStreamRequest(
                collector_id=self.victim.collector_id, ingest_token=self.ingest_token
            )
        ]
        own = [method for method in METHODS if self._may_call(method)]
        heard: Counter[str] = Counter()
        with grpc.insecure_channel(self.guard.address) as channel:
            for number in range(calls):
                # Mostly of its row: the others end at the first check.
                method = fuzzer.rng.choice(own if fuzzer.rng.random() < 0.8 else METHODS)
                raw = self._request(fuzzer, method, number)
                answer = call(channel, method, raw, self.auth_token, CALL_SECS)
                self._check(method, raw, answer, f"{self.role.value}, seed {seed}, {number}")
                if isinstance(answer, Message):
                    fuzzer.harvest(answer)
                    heard["OK"] += 1
                else:
                    heard[reason_of(answer) or answer.code().name] += 1
        return heard

    def _request(self, fuzzer: Fuzzer, method: MethodDescriptor, number: int) -> bytes:
        if number % 997 == 996:
            return b"\xff" * HUGE_BYTES
        return fuzzer.request(method)

    def _check(
        self, method: MethodDescriptor, raw: bytes, answer: "Message | grpc.RpcError", at: str
    ) -> None:
        at = f"{at}, {method.name}({raw[:200]!r}): {answer!r}"
        if isinstance(answer, Message):
            assert self._may_call(method), at
            if self.is_limited:
                reply = _without_owners(answer).SerializeToString()
                assert MARK.encode() not in reply, at
                for text in (self.victim.dataset_id, self.victim.stream_id):
                    assert text.encode() not in reply or text.encode() in raw, at
            return
        code: Any = answer.code()
        assert code not in FORBIDDEN, at
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return
        # gRPC itself refuses a message beyond the limit, before anything of ours sees it.
        assert reason_of(answer) or len(raw) == HUGE_BYTES, at
        if not self._may_call(method) and len(raw) < HUGE_BYTES:
            assert reason_of(answer) == RoleRefused.reason, at

    def _may_call(self, method: MethodDescriptor) -> bool:
        service, rpc = method.containing_service.name, method.name
        if self.is_limited and not role_calls.is_scoped(service, rpc):
            return False
        return (service, rpc) in _ALLOWED[self.role]


def _without_owners(answer: Message) -> Message:
    """A reply without the owners of pins, which may be any text that its caller once sent."""
    copy: Any = deepcopy(answer)
    for name in ("pin", "pins"):
        if name in copy.DESCRIPTOR.fields_by_name:
            field = getattr(copy, name)
            for pin in (field,) if name == "pin" else field:
                pin.ClearField("owner")
    shown: Message = copy
    return shown


_ALLOWED = {
    role: {(service, rpc) for service, rpc, roles in role_calls.rows() if role in roles}
    for role in Role
}


@contextmanager
def slow_connections(guard: GuardedServer) -> Iterator[None]:
    """Hold connections open whose request never comes to its end."""
    host, _, port = guard.address.rpartition(":")
    with ExitStack() as stack:
        for _ in range(SLOW_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection((host, int(port)), 10))
            connection.sendall(_PREFACE + _UNFINISHED)
        yield


def table_digests(guard: GuardedServer) -> Digests:
    """A digest of the rows of every table but those of background jobs."""
    names = sorted(set(metadata.tables) - _BACKGROUND)
    parts = " UNION ALL ".join(map(_DIGEST.format, names))
    with guard.running.database.read() as tx:
        return {row[0]: row[1] for row in tx.exec_driver_sql(parts)}


def victims_rows(guard: GuardedServer, victim: Victim) -> object:
    """The rows of the victim's stream, pin, token and dataset."""
    queries = (
        "SELECT t::text FROM ingest_streams t WHERE id = %(stream)s",
        "SELECT b::text FROM baby_segments b WHERE stream_id = %(stream)s ORDER BY 1",
        "SELECT d::text FROM stream_datasets d WHERE stream_id = %(stream)s ORDER BY 1",
        "SELECT p::text FROM pins p WHERE id = %(pin)s",
        "SELECT t::text FROM ingest_tokens t WHERE id = %(token)s",
        "SELECT d::text FROM datasets d WHERE id = %(dataset)s",
        "SELECT u::text FROM dataset_usage u WHERE dataset_id = %(dataset)s ORDER BY 1",
        "SELECT s::text FROM segments s JOIN datasets d ON d.key = s.dataset_key"
        " WHERE d.id = %(dataset)s ORDER BY 1",
    )
    values = {
        "stream": victim.stream_id,
        "pin": victim.pin_id,
        "token": victim.token.id,
        "dataset": victim.dataset_id,
    }
    with guard.running.database.read() as tx:
        return [[row[0] for row in tx.exec_driver_sql(query, values)] for query in queries]


def hostile_client(guard: GuardedServer, role: Role, *datasets: str) -> str:
    """A token of the role; of a limited one for these datasets alone."""
    fields: dict[str, Any] = {"dataset_names": datasets} if datasets else {}
    return guard.token(role, f"hostile {role.value}", **fields).plaintext_token


def good_caller(client: MetaClient) -> int:
    """One call of a good reader; returns how many segments it finds.

    It names no dataset, for the role catalog may rename them.
    """
    return len(Writer(client).find().segments)
