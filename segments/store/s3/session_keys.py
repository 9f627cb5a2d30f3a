"""Keys that expire and may read some prefixes only, from a store's Security Token Service."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from segments.errors import StoreUnavailable, StoreUnusable
from segments.keys import join_key
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.s3.errors import code_of, is_transient, passing_cause_of
from segments.store.s3.signing import DEFAULT_REGION, AccessKeys

_TIMEOUT_SECS = 5.0
_TRIES = 2
_SESSION_NAME = "segplane-gateway"


@dataclass(frozen=True, slots=True)
class TokenService:
    """A Security Token Service, the role to assume there, and the keys that may assume it."""

    role_arn: str
    keys: AccessKeys = field(repr=False)
    # "" = that of AWS in the store's region.
    endpoint: str = ""
    lifetime_secs: int = 3_600


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Keys, and when they expire, in milliseconds since 1970."""

    keys: AccessKeys
    expires_at_millis: int


def read_policy(locations: Sequence[StoreLocation], prefixes: Sequence[str]) -> str:
    """Return a session policy that allows to read objects below some prefixes, and no more."""
    objects = [
        f"arn:aws:s3:::{join_key(location.bucket, location.path, prefix.rstrip('/'))}/*"
        for location in locations
        for prefix in prefixes
    ]
    statement = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": objects}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def assume_role(service: TokenService, location: StoreLocation, policy: str) -> SessionKeys:
    """Ask for keys of the role, limited by a policy. Raises StoreError."""
    keys = service.keys
    client: Any = botocore.session.get_session().create_client(
        "sts",
        region_name=location.region or DEFAULT_REGION,
        endpoint_url=service.endpoint or None,
        verify=credentials.ca_file(),
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        config=Config(
            connect_timeout=_TIMEOUT_SECS,
            read_timeout=_TIMEOUT_SECS,
            retries={"mode": "standard", "total_max_attempts": _TRIES},
        ),
    )
    try:
        reply = client.assume_role(
            RoleArn=service.role_arn,
            RoleSessionName=_SESSION_NAME,
            Policy=policy,
            DurationSeconds=service.lifetime_secs,
        )
    except ClientError as error:
        code = code_of(error)
        if is_transient(error):
            cause = passing_cause_of(error)
            answer = f"{code}: {cause}" if cause else code
            raise StoreUnavailable(f"the token service answered {answer}") from error
        raise StoreUnusable(
            f"the token service gives no keys for role {service.role_arn} ({code})"
        ) from error
    except BotoCoreError as error:
        raise StoreUnavailable(f"the token service does not answer: {error}") from error
    finally:
        client.close()
    given = reply["Credentials"]
    return SessionKeys(
        AccessKeys(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"]),
        int(given["Expiration"].timestamp() * 1_000),
    )
