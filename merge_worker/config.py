"""The merge worker's settings, read once from MERGE_WORKER_* in the environment."""

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from uuid import uuid4

from meta.process import NO_METRICS, ConfigError, Environment, MetricsAddress
from segments.location import StoreLocation
from segments.spark.settings import SparkConf, parse_conf

MIB = 1024 * 1024


def _default_worker_id() -> str:
    # A worker that comes back must not be taken for the one that died.
    return f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator may change; the defaults serve one machine of two cores."""

    # Where meta listens.
    meta_address: str = "127.0.0.1:9500"
    # META_AUTH_TOKEN of that meta; empty where it has none.
    meta_auth_token: str = field(default="", repr=False)
    # Where Prometheus metrics are served.
    metrics: MetricsAddress = NO_METRICS
    # Overrides where meta says the objects are, such as s3:// with another endpoint; "" = as told.
    object_store: StoreLocation | None = None
    # Name under which merge tasks are claimed; unique to this process by default.
    worker_id: str = field(default_factory=_default_worker_id)
    # Pause after a poll that gave no task; doubles up to interval_secs_max while none comes.
    interval_secs: float = 1.0
    # Longest pause between two polls.
    interval_secs_max: float = 15.0
    # Merge tasks worked on at once, each on one core; 0 = as many as there are cores.
    concurrent_tasks: int = 0
    # Bytes of rows that one merge task buffers of all its inputs together, before decoding.
    buffer_bytes_max: int = 128 * MIB
    # Folder for the output before it is uploaded, and for inputs that must be sorted anew.
    work_dir: Path = field(default_factory=lambda: Path(gettempdir()))
    # On shutdown, merge tasks under way get this long to finish before they are given up.
    drain_secs: float = 15.0
    # local[n], local[*], spark://, k8s:// or yarn.
    spark_master: str = "local[*]"
    # Cores this process may take of a cluster; without a bound the first process takes all.
    spark_cores_max: int = 8
    # JVM memory of the driver, as Spark writes it; no record passes through it.
    spark_driver_memory: str = "768m"
    # Any other of Spark's properties, as spark.a=x,spark.b=y; they win over ours.
    spark_conf: SparkConf = ()
    # How long a start waits for the first executor of a cluster.
    spark_start_secs: float = 300.0


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    default = Settings()
    return Settings(
        meta_address=env.text("META_ADDRESS", default.meta_address),
        meta_auth_token=env.text("META_AUTH_TOKEN", ""),
        metrics=env.metrics(),
        object_store=env.location("OBJECT_STORE_URL"),
        worker_id=_worker_id(env, default.worker_id),
        interval_secs=env.seconds("INTERVAL_SECS", default.interval_secs, low=0.01),
        interval_secs_max=env.seconds("INTERVAL_SECS_MAX", default.interval_secs_max, low=0.01),
        concurrent_tasks=env.integer("CONCURRENT_TASKS", default.concurrent_tasks, high=1_024),
        buffer_bytes_max=env.integer("BUFFER_BYTES_MAX", default.buffer_bytes_max, low=MIB),
        work_dir=_work_dir(env, default.work_dir),
        drain_secs=env.seconds("DRAIN_SECS", default.drain_secs),
        spark_master=env.text("SPARK_MASTER", default.spark_master),
        spark_cores_max=env.integer("SPARK_CORES_MAX", default.spark_cores_max, low=1),
        spark_driver_memory=env.text("SPARK_DRIVER_MEMORY", default.spark_driver_memory),
        spark_conf=_spark_conf(env),
        spark_start_secs=env.seconds("SPARK_START_SECS", default.spark_start_secs, low=1.0),
    )


def _spark_conf(env: Environment) -> SparkConf:
    try:
        return parse_conf(env.text("SPARK_CONF", ""))
    except ValueError as error:
        raise ConfigError(f"{env.prefix}SPARK_CONF: {error}") from None


def _worker_id(env: Environment, default: str) -> str:
    worker_id = env.text("WORKER_ID", default)
    if not worker_id or not worker_id.isprintable() or len(worker_id) > 255:
        raise ConfigError("MERGE_WORKER_WORKER_ID must have 1 to 255 printable characters")
    return worker_id


def _work_dir(env: Environment, default: Path) -> Path:
    path = Path(env.text("WORK_DIR", str(default)))
    if not path.is_absolute() or not path.is_dir() or not os.access(path, os.W_OK):
        raise ConfigError(f"MERGE_WORKER_WORK_DIR {path} is not a writable, absolute folder")
    return path
