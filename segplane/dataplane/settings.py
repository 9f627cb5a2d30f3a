"""Settings that several processes share, each read under the process's own prefix."""

from dataclasses import dataclass, field
from typing import TypedDict

from meta.process import NO_METRICS, ConfigError, Environment, MetricsAddress
from segments.location import StoreLocation
from segments.spark.settings import SparkConf, SparkSettings, parse_conf


class ProcessValues(TypedDict):
    """Values of ProcessSettings, to build a process's own settings from."""

    meta_address: str
    meta_auth_token: str
    metrics: MetricsAddress
    object_store: StoreLocation | None


class SparkValues(ProcessValues):
    """Values of SparkProcessSettings."""

    drain_secs: float
    spark_master: str
    spark_cores_max: int
    spark_driver_memory: str
    spark_conf: SparkConf
    spark_start_secs: float


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Settings of every process except meta."""

    # Where meta listens.
    meta_address: str = "127.0.0.1:9500"
    # META_AUTH_TOKEN of that meta; empty where it has none.
    meta_auth_token: str = field(default="", repr=False)
    # Where Prometheus metrics are served.
    metrics: MetricsAddress = NO_METRICS
    # Overrides where meta says the objects are, such as s3:// with another endpoint; None = as
    # meta says.
    object_store: StoreLocation | None = None


@dataclass(frozen=True, slots=True)
class SparkProcessSettings(ProcessSettings):
    """Settings of every process that runs Spark jobs."""

    # On shutdown, a job under way gets this long to finish before it is cancelled.
    drain_secs: float = 15.0
    # local[n], local[*], spark://, k8s:// or yarn.
    spark_master: str = "local[*]"
    # Cores this process may take of a cluster; without a bound the first process takes all.
    spark_cores_max: int = 8
    # JVM memory of the driver, as Spark writes it; no record passes through it.
    spark_driver_memory: str = "768m"
    # Any other of Spark's properties, as spark.a=x,spark.b=y; they override Segplane's.
    spark_conf: SparkConf = ()
    # How long a start waits for the first executor of a cluster.
    spark_start_secs: float = 300.0

    def spark(self, app_name: str) -> SparkSettings:
        """Settings of the process's one Spark session."""
        return SparkSettings(
            app_name=app_name,
            master=self.spark_master,
            cores_max=self.spark_cores_max,
            driver_memory=self.spark_driver_memory,
            conf=self.spark_conf,
            start_secs=self.spark_start_secs,
        )


def process_values(env: Environment) -> ProcessValues:
    """Read what every process needs; raises ConfigError."""
    return ProcessValues(
        meta_address=env.text("META_ADDRESS", ProcessSettings().meta_address),
        meta_auth_token=env.text("META_AUTH_TOKEN", ""),
        metrics=env.metrics(),
        object_store=env.location("OBJECT_STORE_URL"),
    )


def spark_values(env: Environment) -> SparkValues:
    """Read what a process needs that runs Spark jobs; raises ConfigError."""
    default = SparkProcessSettings()
    return SparkValues(
        **process_values(env),
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
