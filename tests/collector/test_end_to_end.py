"""Whole collectors: what is acknowledged is committed once, whatever happens to the process."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import grpc
import psycopg
import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import (
    OTLPLogExporter as GrpcLogExporter,
)
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
    OTLPSpanExporter as GrpcSpanExporter,
)
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter as HttpSpanExporter,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from collector.otlp.export import digest_of
from segments.baby import Baby, BabyKind, Export, crc32c, encode_baby
from segments.keys import baby_key
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector, Stub

RETRYABLE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


@pytest.mark.one_meta
def test_an_acknowledged_export_is_in_a_committed_baby(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    payload = log_export("a", "b", time_nanos=1_700_000_000_000_000_000)

    reply = collector.export(token, payload)

    assert reply == b""
    [baby] = ground.committed_babies()
    [part] = baby.parts
    assert baby.kind is BabyKind.DATA
    assert len(baby.flush_id) == 16
    assert (part.token_id, part.signal, part.slices) == (token.token_id, "logs", (payload,))
    assert (part.dataset_id, part.num_records) == (token.dataset_id, 2)
    assert (part.start_time, part.end_time) == (
        1_700_000_000_000_000_000,
        1_700_000_000_000_000_001,
    )


def test_meta_knows_the_checksum_of_every_baby(
    ground: Ground, start_collector: StartCollector, database_url: str
) -> None:
    token = ground.new_token()

    start_collector().export(token, log_export("a", "b"))

    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT stream_id, crc32c FROM baby_segments").fetchall()
    assert rows == [(row[0], crc32c(ground.store.get(baby_key(str(row[0]), 0)))) for row in rows]
    assert len(rows) == 1


@pytest.mark.one_meta
def test_official_exporters_are_understood_over_both_protocols(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    headers = {"authorization": f"Bearer {token.token_secret}"}
    grpc_url = f"http://127.0.0.1:{collector.grpc_port}"
    http_url = f"http://127.0.0.1:{collector.http_port}"
    traces = TracerProvider(shutdown_on_exit=False)
    for exporter in (
        GrpcSpanExporter(
            grpc_url, insecure=True, headers=headers, compression=grpc.Compression.Gzip
        ),
        HttpSpanExporter(f"{http_url}/v1/traces", headers=headers, compression=Compression.Gzip),
    ):
        traces.add_span_processor(SimpleSpanProcessor(exporter))
    logs = LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(
        SimpleLogRecordProcessor(GrpcLogExporter(grpc_url, insecure=True, headers=headers))
    )
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(f"{http_url}/v1/metrics", headers={"X-Ingest-Token": token.token_secret})
    )
    metrics = MeterProvider([reader], shutdown_on_exit=False)

    traces.get_tracer("t").start_span("s").end()
    logs.get_logger("l").emit(body="hello", severity_text="INFO")
    metrics.get_meter("m").create_counter("c").add(1)
    assert metrics.force_flush()

    counts: dict[str, int] = {}
    for baby in ground.committed_babies():
        for part in baby.parts:
            counts[part.signal] = counts.get(part.signal, 0) + part.num_records
    # Both span exporters sent the same bytes of the same span, which is one export to us.
    assert counts.keys() == {"logs", "metrics", "traces"}
    assert counts["logs"] == 1
    assert counts["metrics"] == 1
    assert counts["traces"] in (1, 2)
    for provider in (traces, logs, metrics):
        provider.shutdown()


@pytest.mark.one_meta
def test_a_resent_export_is_acknowledged_and_not_written_again(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    payload = log_export("once")

    with collector.stub() as stub:
        twins = [stub.start(token.token_secret, payload) for _ in range(5)]
        for twin in twins:
            twin.result()
        stub.export(token.token_secret, payload)

    assert ground.committed_ids() == ["once"]


def test_sigterm_commits_what_was_taken_and_ends_the_stream(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    collector.export(token, log_export("early"))
    with collector.stub() as stub:
        late = stub.start(token.token_secret, log_export("late", padding_bytes=200_000))
        collector.wait_for("baby_committed", 1)
        exit_code = collector.terminate()
        acknowledged = late.exception() is None

    assert exit_code == 0
    expected = ["early", "late"] if acknowledged else ["early"]
    assert ground.committed_ids() == expected
    stop = collector.wait_for("stream_stopped")
    assert ground.baby(stop["stream_id"], stop["offset"]).is_stop
    assert ground.register("collector-1", token)[0] != stop["stream_id"]


def test_a_baby_that_was_put_before_a_crash_is_committed_by_the_next_start(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    first = start_collector()
    first.export(token, log_export("before"))
    stream_id, next_offset = ground.register("collector-1", token)
    first.kill()
    # What a crash between put and commit leaves: the object of the same export, uncommitted.
    lost = log_export("lost answer")
    original = ground.baby(stream_id, 0)
    part = original.parts[0]
    left = _with_export(original, lost, part.token_id)
    ground.store.put_if_absent(baby_key(stream_id, next_offset), encode_baby(left))

    second = start_collector()
    second.export(token, lost)
    second.export(token, log_export("after"))

    assert ground.committed_ids() == ["after", "before", "lost answer"]
    assert [offset for _, offset, _ in ground.commits()] == [0, 1, 2]


def test_an_export_committed_before_a_crash_is_known_after_it(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    payload = log_export("acknowledged into the void")
    first = start_collector()
    first.export(token, payload)
    first.kill()

    start_collector().export(token, payload)

    assert ground.committed_ids() == ["acknowledged into the void"]


def test_no_export_is_lost_or_doubled_while_the_process_is_killed_again_and_again(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    first = start_collector()
    bind = f"127.0.0.1:{first.grpc_port}"
    payloads = {f"r{n}": log_export(f"r{n}") for n in range(400)}
    options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100)]

    def send(payload: bytes) -> None:
        while True:
            error = stub.start(token.token_secret, payload, timeout=5.0).exception()
            if error is None:
                return
            assert error.code() in RETRYABLE, error

    def kill_three_times() -> None:
        collector = first
        for _ in range(3):
            # Right after a commit: others are between put and commit, or commit and answer.
            collector.wait_for("baby_committed", 4)
            collector.kill()
            collector = start_collector(COLLECTOR_GRPC_BIND=bind)

    with grpc.insecure_channel(bind, options=options) as channel:
        stub = Stub(channel)
        with ThreadPoolExecutor(9) as pool:
            kills = pool.submit(kill_three_times)
            list(pool.map(send, payloads.values()))
            kills.result()

    assert ground.committed_ids() == sorted(payloads)


def test_two_incarnations_of_one_collector_lose_and_overwrite_nothing(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collectors = [start_collector(), start_collector()]
    ids = [[f"{index}-{n}" for n in range(60)] for index in range(2)]

    def send(index: int) -> None:
        with collectors[index].stub() as stub, ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: stub.export(token.token_secret, log_export(i)), ids[index]))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(send, range(2)))

    assert ground.committed_ids() == sorted(ids[0] + ids[1])
    assert len({stream for stream, _, _ in ground.commits()}) == 1
    assert [offset for _, offset, _ in ground.commits()] == list(range(len(ground.commits())))


def test_records_survive_their_stream_being_stopped_under_them(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    collector.export(token, log_export("old stream"))
    stream_id, next_offset = ground.register("collector-1", token)
    ground.stop_stream(stream_id, next_offset - 1)

    collector.export(token, log_export("new stream"))

    assert ground.committed_ids() == ["new stream", "old stream"]
    assert len({stream for stream, _, _ in ground.commits()}) == 2


def _with_export(like: Baby, payload: bytes, token_id: str) -> Baby:
    digest = digest_of(token_id, "logs", payload)
    part = like.parts[0]._replace(
        slices=(payload,), num_records=1, exports=(Export(digest, like.received_at),)
    )
    return replace(like, parts=(part,), flush_id=uuid4().bytes)


@pytest.mark.parametrize("flush_timeout_ms", [1000])
def test_an_export_waits_for_one_flush_timeout_and_no_more(
    ground: Ground, start_collector: StartCollector, flush_timeout_ms: int
) -> None:
    token = ground.new_token()
    collector = start_collector()

    with collector.stub() as stub, ThreadPoolExecutor(4) as pool:
        stub.export(token.token_secret, log_export("opens the stream"))

        def waited_secs(record_id: str) -> float:
            started = time.monotonic()
            stub.export(token.token_secret, log_export(record_id))
            return time.monotonic() - started

        def two_in_turn(sender: int) -> list[float]:
            return [waited_secs(f"{sender}-{n}") for n in range(2)]

        waits = [secs for pair in pool.map(two_in_turn, range(4)) for secs in pair]

    # One put and one commit take milliseconds here; a second timeout would show.
    assert max(waits) < 2 * flush_timeout_ms / 1000
