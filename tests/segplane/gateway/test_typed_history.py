"""Typed columns have the values of a model under any history, in all readers."""

from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from pyspark.sql import SparkSession

from tests.segplane.gateway.typed_history import TypedHistory
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.spark import shared_session

QUICK = settings(
    max_examples=2,
    stateful_step_count=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)
DEEP = settings(QUICK, max_examples=25, stateful_step_count=30, derandomize=False, print_blob=True)


def _run(
    meta: MetaServer,
    gateway: GatewayServer,
    folder: Path,
    how: settings,
    spark: SparkSession | None = None,
) -> None:
    # Hypothesis takes a class, which it calls without arguments.
    machine = partial(TypedHistory, meta, gateway, folder, spark)
    run_state_machine_as_test(cast(type[RuleBasedStateMachine], machine), settings=how)


@pytest.mark.long
def test_typed_columns_have_the_values_of_the_model_in_five_readers(
    meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path
) -> None:
    _run(meta_server, gateway, tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_typed_columns_have_the_values_of_the_model_for_long(
    meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path
) -> None:
    _run(meta_server, gateway, tmp_path, DEEP)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1_200)
def test_typed_columns_have_the_values_of_the_model_in_spark(
    meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path
) -> None:
    _run(meta_server, gateway, tmp_path, QUICK, shared_session())
