"""A process's connection to meta, from its settings."""

import structlog

from dataplane.settings import ProcessSettings
from meta.call_metrics import ClientCalls
from meta.client import MetaClient
from meta.process.exits import ConfigError

log = structlog.get_logger()


def connect(settings: ProcessSettings, tenant: str = "") -> MetaClient:
    """Open a client of meta, whose calls name a tenant; "" = none.

    Raises ConfigError if its files cannot be used.
    """
    try:
        return MetaClient(
            settings.meta_address,
            auth_token=settings.meta_auth_token,
            auth_token_file=settings.meta_auth_token_file,
            tenant=tenant,
            tls=settings.meta_tls,
            on_failure=_log_failure,
            observer=ClientCalls(settings.meta_address),
        )
    except ValueError as error:
        raise ConfigError(f"connection to meta: {error}") from error


def _log_failure(address: str) -> None:
    log.warning("meta_server_failed", meta_address=address)
