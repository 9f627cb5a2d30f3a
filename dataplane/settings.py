"""Settings that several processes share, each read under the process's own prefix."""

from collections.abc import Iterable
from dataclasses import dataclass

from meta.client.addresses import is_loopback_host, split_addresses
from meta.client.channel import SYSTEM_CA, ClientTls
from meta.process import production
from meta.process.declared import setting, setting_read
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.metrics_address import NO_METRICS, MetricsAddress
from segments.location import StoreLocation
from segments.spark.settings import SparkConf, SparkSettings, parse_conf

_ADDRESS = "127.0.0.1:9500"


def _addresses(env: Environment) -> str:
    """Read the addresses of meta; raises ConfigError for a malformed one."""
    addresses = env.text("META_ADDRESS", _ADDRESS)
    try:
        split_addresses(addresses)
    except ValueError as error:
        raise ConfigError(f"{env.prefix}META_ADDRESS: {error}") from None
    return addresses


def client_tls(env: Environment) -> ClientTls | None:
    """Read the options of connections to meta: TLS if a CA is named; raises ConfigError."""
    ca_file = env.text("META_CA_FILE", "")
    tls = ClientTls(
        ca_file or SYSTEM_CA,
        env.text("META_CERT_FILE", ""),
        env.text("META_KEY_FILE", ""),
        env.text("META_SERVER_NAME", ""),
    )
    if not ca_file:
        if tls.cert_file or tls.key_file or tls.server_name:
            raise ConfigError(
                f"{env.prefix}META_CA_FILE is not set: name the file of the CA that signed meta's"
                f" certificate, or `{SYSTEM_CA}` for a public one"
            )
        return None
    return tls


def _spark_conf(env: Environment) -> SparkConf:
    try:
        return parse_conf(env.text("SPARK_CONF", ""))
    except ValueError as error:
        raise ConfigError(f"{env.prefix}SPARK_CONF: {error}") from None


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Settings of every process except meta."""

    # Addresses of meta: host:port, or several of them with commas.
    meta_address: str = setting_read(_ADDRESS, _addresses)
    # META_AUTH_TOKEN of that meta; empty if it has none.
    meta_auth_token: str = setting_read(
        "", lambda env: env.secret("META_AUTH_TOKEN"), is_shown=False
    )
    # A file that holds it and is read again when it changes; "" = none.
    meta_auth_token_file: str = setting_read("", lambda env: env.file_of("META_AUTH_TOKEN"))
    # How to connect to a meta with TLS; None = in plain text.
    meta_tls: ClientTls | None = setting_read(None, client_tls)
    # Address at which Prometheus metrics are served.
    metrics: MetricsAddress = setting_read(NO_METRICS, Environment.metrics)
    # Name under which `segplane status` lists the process; by default its host and port.
    process_name: str = setting("")
    # Overrides the location that meta names, such as s3:// with another endpoint; None = as meta
    # says.
    object_store: StoreLocation | None = setting_read(
        None, lambda env: env.location("OBJECT_STORE_URL")
    )


@dataclass(frozen=True, slots=True)
class SparkProcessSettings(ProcessSettings):
    """Settings of every process that runs tasks, on Spark or without it."""

    # On shutdown, a job under way gets this long to finish before it is cancelled.
    drain_secs: float = setting(15.0)
    # local[n], local[*], spark://, k8s:// or yarn; without Spark processes or processes[n].
    spark_master: str = setting("local[*]")
    # Cores this process may take of a cluster; without a bound the first process takes all.
    spark_cores_max: int = setting(8, low=1)
    # JVM memory of the driver, as Spark writes it; no record passes through it.
    spark_driver_memory: str = setting("768m")
    # Any other of Spark's properties, as spark.a=x,spark.b=y; they override Segplane's.
    spark_conf: SparkConf = setting_read((), _spark_conf)
    # How long a start waits for the first executor of a cluster.
    spark_start_secs: float = setting(300.0, low=1.0)
    # Port of Spark's UI; 0 = none. The next free one is taken if another application has it.
    spark_ui_port: int = setting(0, high=65_535)

    def spark(self, app_name: str, *task_modules: str) -> SparkSettings:
        """Settings of the process's one Spark session, whose tasks need some modules."""
        return SparkSettings(
            app_name=app_name,
            master=self.spark_master,
            cores_max=self.spark_cores_max,
            driver_memory=self.spark_driver_memory,
            conf=self.spark_conf,
            start_secs=self.spark_start_secs,
            ui_port=self.spark_ui_port,
            task_modules=task_modules,
        )


def refuse_unsafe(env: Environment, settings: ProcessSettings, ports: Iterable[str] = ()) -> None:
    """With SEGPLANE_PROFILE=production, raise ConfigError that lists unsafe settings.

    `ports` are violations of the process's own ports.
    """
    if env.is_production():
        production.refuse([*ports, *_violations(env.prefix, settings)])


def _violations(prefix: str, settings: ProcessSettings) -> Iterable[str]:
    addresses = split_addresses(settings.meta_address)
    if settings.meta_tls is None and not all(is_loopback_host(a.host) for a in addresses):
        yield f"{prefix}META_ADDRESS is called in plain text: set {prefix}META_CA_FILE"
    has_certificate = settings.meta_tls is not None and settings.meta_tls.cert_file
    if not settings.meta_auth_token and not has_certificate:
        yield f"{prefix}META_AUTH_TOKEN is not set: create one with `segplane access create`"
    yield from production.plain_store(f"{prefix}OBJECT_STORE_URL", settings.object_store)
    yield from production.open_metrics(prefix, settings.metrics)
