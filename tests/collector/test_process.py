"""The process: settings, ports, meta and store that are not there, its id across restarts."""

import socket
from pathlib import Path

import pytest

from collector.config import Settings, load
from meta.process.environment import environment
from meta.process.exits import ConfigError
from meta.v1 import common_pb2, operations_pb2
from segments.location import StoreLocation
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector


def exit_line(collector: CollectorProcess) -> tuple[int, str]:
    """Wait for the end; returns the exit code and the last line on stderr."""
    code = collector.process.wait(30)
    collector.wait_for_end()
    return code, collector.lines[-1]


@pytest.mark.parametrize("setting", ["COLLECTOR_GRPC_BIND", "COLLECTOR_HTTP_BIND"])
def test_a_taken_port_ends_the_process_with_one_line(
    start_collector: StartCollector, setting: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        bind = f"127.0.0.1:{holder.getsockname()[1]}"
        code, line = exit_line(start_collector(is_ready=False, **{setting: bind}))

    assert code == 2
    assert bind in line
    assert setting in line


def test_two_collectors_cannot_share_a_port_by_accident(start_collector: StartCollector) -> None:
    first = start_collector()

    second = start_collector(
        is_ready=False, COLLECTOR_GRPC_BIND=f"127.0.0.1:{first.grpc_port}", COLLECTOR_ID="other"
    )

    assert exit_line(second)[0] == 2


def test_a_store_that_cannot_be_used_ends_the_process_with_one_line(
    start_collector: StartCollector,
) -> None:
    collector = start_collector(is_ready=False, COLLECTOR_OBJECT_STORE_URL="file:///proc/nowhere")

    code, line = exit_line(collector)

    assert code == 2
    assert "/proc/nowhere" in line


@pytest.mark.long
def test_an_unreachable_bucket_ends_the_process_with_one_line(
    start_collector: StartCollector,
) -> None:
    url = "s3://bucket/path?endpoint=http://127.0.0.1:9&region=us-east-1"
    collector = start_collector(
        is_ready=False,
        COLLECTOR_OBJECT_STORE_URL=url,
        AWS_ACCESS_KEY_ID="x",
        AWS_SECRET_ACCESS_KEY="x",
    )

    code, line = exit_line(collector)

    assert code == 2
    assert "127.0.0.1:9" in line


@pytest.mark.long
def test_without_meta_it_waits_and_refuses(ground: Ground, start_collector: StartCollector) -> None:
    token = ground.new_token()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        collector = start_collector(is_ready=False, COLLECTOR_META_ADDRESS=address)
        collector.wait_for("meta_unreachable", 2)
        with collector.stub() as stub:
            error = stub.start(token.token_secret, log_export("a")).exception()

        assert "UNAVAILABLE" in str(error)
        assert collector.terminate() == 0


def test_a_collector_that_took_nothing_ends_cleanly(start_collector: StartCollector) -> None:
    assert start_collector().terminate() == 0


def settings() -> Settings:
    """Read the settings as the process does."""
    return load(environment("COLLECTOR_"))


def test_the_id_in_the_state_folder_survives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLLECTOR_STATE_DIR", str(tmp_path / "state"))

    first, second = settings(), settings()

    assert first.collector_id == second.collector_id
    assert len(first.collector_id) == 36
    monkeypatch.setenv("COLLECTOR_ID", "mine")
    assert settings().collector_id == "mine"


def test_without_a_folder_the_id_comes_from_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLECTOR_GRPC_BIND", "0.0.0.0:14317")

    assert settings().collector_id == f"{socket.gethostname()}:14317"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COLLECTOR_GRPC_BIND", "4317"),
        ("COLLECTOR_HTTP_BIND", "localhost:http"),
        ("COLLECTOR_HTTP_BIND", "localhost:65536"),
        ("COLLECTOR_DEDUPE_SECS", "86401"),
        ("COLLECTOR_OBJECT_STORE_URL", "ftp://x"),
        ("COLLECTOR_PROCESSES", "0"),
        ("COLLECTOR_STATE_DIR", "/proc/nowhere"),
    ],
)
def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError, match=name):
        settings()


def test_the_store_may_be_set_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLECTOR_OBJECT_STORE_URL", "file:///data")

    assert settings().object_store == StoreLocation("file", "", "", "", "data")


@pytest.mark.parametrize("flush_timeout_ms", [600_000])
def test_a_class_of_collectors_has_a_flush_time_of_its_own(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    settings = common_pb2.WorkerSettings(flush_timeout_ms=10)
    request = operations_pb2.SetWorkerSettingsRequest(name="collector/*", settings=settings)
    ground.client.operations.SetWorkerSettings(request)

    # The flush time of all would outlast the deadline of the export.
    assert start_collector().export(token, log_export("a")) == b""
