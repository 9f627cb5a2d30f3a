"""Connections to a bucket: one boto3 client per process and endpoint, with its timeouts."""

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.credentials import BucketKeys
from segments.store.timeouts import RequestTimeouts

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

CONNECTIONS_MAX = 32


@dataclass(frozen=True, slots=True)
class Target:
    """One object to read or write; name is the key with the location's base path."""

    location: StoreLocation
    key: str
    name: str
    timeouts: RequestTimeouts

    @property
    def client(self) -> "S3Client":
        """This process's client."""
        return client_of(self.location, self.timeouts)


def client_of(location: StoreLocation, timeouts: RequestTimeouts) -> "S3Client":
    """Give this process's client; raises StoreUnusable if the location makes no sense."""
    # Looked up per call and process: a fork or a pickle must not carry connections along.
    try:
        keys = credentials.keys_of(location)
        return _client(os.getpid(), location.endpoint, location.region, timeouts, keys)
    except (BotoCoreError, ValueError) as error:
        raise StoreUnusable(f"{location.url()} cannot be opened: {error}") from error


@functools.cache
def _client(
    _process_id: int, endpoint: str, region: str, timeouts: RequestTimeouts, keys: BucketKeys
) -> "S3Client":
    config = Config(
        connect_timeout=timeouts.connect_secs,
        read_timeout=timeouts.silence_secs,
        # Repeated by `Tries`: botocore has no deadline, and repeats no body that breaks off.
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=CONNECTIONS_MAX,
        tcp_keepalive=True,
        # The signature then covers a SHA-256 of the body, which every store checks.
        s3={
            "payload_signing_enabled": True,
            "addressing_style": "path" if endpoint else "auto",
        },
    )
    session = boto3.session.Session()
    return session.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=region or session.region_name or "us-east-1",
        config=config,
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        aws_session_token=keys.session_token,
    )
