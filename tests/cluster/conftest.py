"""A Spark cluster of real processes, and a meta whose leases pass while a test waits."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from meta import config
from meta.planning.planner import Policy
from tests.support.cluster.stack import ClusterScene
from tests.support.cluster.standalone import WORKERS, Cluster
from tests.support.meta.server import MetaServer

LEASE_SECS = 3.0


@pytest.fixture(scope="module")
def started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one cluster for a module's tests."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(started_cluster: Cluster) -> Cluster:
    """Give a cluster with all its workers, though a test before has killed one."""
    while len(started_cluster.workers) < WORKERS:
        started_cluster.add_worker()
    return started_cluster


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """Free the merge task of a dead worker soon."""
    lifetimes = replace(meta_settings.lifetimes, claim_lease=LEASE_SECS, beat_lease=LEASE_SECS)
    # Whatever the sizes of a day's segments are, one task merges them all.
    policy = Policy(files_quiet=1, quiet_nanos=0)
    return replace(meta_settings, lifetimes=lifetimes, merge_policy=policy)


@pytest.fixture
def scene(meta_server: MetaServer, cluster: Cluster, tmp_path: Path) -> ClusterScene:
    """Give an empty meta beside the cluster."""
    Path("/", meta_server.settings.location.path).mkdir()
    return ClusterScene(meta_server.client, meta_server.address, tmp_path, cluster)
