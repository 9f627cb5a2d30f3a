"""`segplane dev --metrics`: a metrics port for each process, and the targets of Prometheus."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from meta.process.exits import ConfigError
from segplane.stack import config, metrics_targets
from segplane.stack.config import PIPELINE, StackSettings
from segplane.stack.dev import COLLECTOR, GATEWAY, PARTS, Stack

SETTINGS = StackSettings(Path("/data/shop"), has_metrics=True)


def with_environment(environment: Mapping[str, str]) -> StackSettings:
    return replace(SETTINGS, inherited=environment)


@pytest.mark.long
def test_each_process_of_a_stack_serves_the_metrics_of_its_target(prepared: StackSettings) -> None:
    settings = replace(prepared, has_metrics=True)
    path = metrics_targets.path_in(settings.data_dir)

    with Stack(settings, lambda _: None, parts=(COLLECTOR, GATEWAY)):
        groups = json.loads(path.read_text())
        pages = {group["labels"]["process"]: _page(group["targets"][0]) for group in groups}

    assert [*pages] == ["meta", COLLECTOR, GATEWAY]
    for process, metric in (
        ("meta", "segplane_meta_deletion_held 0.0"),
        (COLLECTOR, 'segplane_collector_exports_total{outcome="accepted",signal="logs"} 0.0'),
        (GATEWAY, 'segplane_gateway_queries_total{outcome="QueryStopped"} 0.0'),
    ):
        assert metric in pages[process], process
    assert not path.exists(), "a stack that has stopped has no targets"


def test_without_the_option_no_process_has_a_port() -> None:
    settings = StackSettings(Path("/data/shop"), inherited={"META_METRICS_PORT": "9000"})

    assert {*config.ports_of(settings, PARTS)} == {
        *("--meta-port", "--otlp-grpc-port", "--otlp-http-port", "--gateway-port")
    }
    assert metrics_targets.environment_of(settings, "meta") == {}


def test_a_port_that_a_process_has_is_kept_and_a_shared_one_is_not() -> None:
    settings = with_environment({"META_METRICS_PORT": "9000", "SEGPLANE_METRICS_PORT": "9001"})

    ports = metrics_targets.ports_of(settings, ("meta", COLLECTOR, PIPELINE))

    assert ports == {
        "META_METRICS_PORT": 9000,
        "COLLECTOR_METRICS_PORT": 0,
        "NURSERY_METRICS_PORT": 0,
    }


def test_the_pipeline_has_one_port_and_two_processes_have_two() -> None:
    apart = with_environment({"NURSERY_SPARK_MASTER": "local[1]"})

    assert config.processes_of(SETTINGS, [PIPELINE]) == [PIPELINE]
    assert config.processes_of(apart, [PIPELINE]) == ["nursery", "merge_worker"]
    one_port = replace(SETTINGS, metrics_ports={"NURSERY_METRICS_PORT": 9003})
    assert metrics_targets.environment_of(one_port, PIPELINE) == {
        "NURSERY_METRICS_PORT": "9003",
        "MERGE_WORKER_METRICS_PORT": "9003",
    }


def test_processes_that_share_a_port_have_a_target_each(tmp_path: Path) -> None:
    counted = {"META_PROCESSES": "2", "META_METRICS_PORT": "9000"}
    settings = replace(
        with_environment(counted),
        data_dir=tmp_path,
        metrics_ports={"META_METRICS_PORT": 9000},
    )

    metrics_targets.write(settings, ["meta"])

    (group,) = json.loads(metrics_targets.path_in(tmp_path).read_text())
    assert group == {
        "targets": ["127.0.0.1:9000", "127.0.0.1:9001"],
        "labels": {"job": "segplane", "installation": tmp_path.name, "process": "meta"},
    }


def test_ports_that_are_counted_up_need_their_first() -> None:
    with pytest.raises(ConfigError, match="set META_METRICS_PORT, the first of the ports"):
        metrics_targets.ports_of(with_environment({"META_PROCESSES": "2"}), ["meta"])


def _page(target: str) -> str:
    with urlopen(f"http://{target}/metrics", timeout=10) as reply:
        return str(reply.read().decode())
