"""Access of callers to the store: signatures of single reads, or keys that expire.

Both reach the segments and the metadata of one dataset only.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from segments.keys import store_of, table_prefix
from segments.location import StoreLocation, Stores
from segments.store import credentials
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.iceberg.access import cloud_reads
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from segplane.gateway.iceberg.access.cloud_reads import PresentObjects
from segplane.gateway.iceberg.refusals import AccessRefused, RequestRefused

if TYPE_CHECKING:
    from segments.store.s3.missing_objects import MissingObjects
    from segments.store.s3.session_keys import SessionKeys
    from segments.store.s3.signing import AccessKeys, ReadRequest

VENDED, SIGNING = "vended-credentials", "remote-signing"
KEPT_MAX = 1_000
_HEADER = re.compile(r"[\x21-\x7e]{1,256}")
_HEADERS_MAX = 64


@dataclass(frozen=True, slots=True)
class Delegation:
    """Properties that a client gets with a table."""

    kind: str
    config: dict[str, str] = field(default_factory=dict, repr=False)


def warehouse_of(scope: DatasetScope) -> str:
    """The warehouse of a tenant in paths: its id."""
    return scope.tenant.removeprefix("//")


class StoreAccess:
    """Gives access to the objects of a table; safe for many threads."""

    def __init__(
        self,
        settings: AccessSettings,
        stores: Callable[[], Stores],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._clock = clock
        # Keys by stores and dataset.
        self._kept: RecentValues[tuple[Stores, str], SessionKeys] = RecentValues(KEPT_MAX)
        self._present = PresentObjects()
        self._missing: MissingObjects | None = None
        self._lock = threading.Lock()

    def kind(self, header: str) -> str:
        """Return the kind of access that a caller gets of those it asks for; "" = none."""
        asked = {kind.strip().lower() for kind in header.split(",")}
        if VENDED in asked and self.gives_keys:
            return VENDED
        return SIGNING if SIGNING in asked and self.signs else ""

    @property
    def signs(self) -> bool:
        """True if reads of the default store are signed."""
        return self._signs_in(self._stores().default)

    def _signs_in(self, location: StoreLocation) -> bool:
        """True if reads are signed: with their own keys on S3, elsewhere with the gateway's."""
        if location.provider in cloud_reads.PROVIDERS:
            return self._settings.are_callers_known
        return bool(self._settings.access_key_id) and location.provider == "s3"

    def _keys_of(self, location: StoreLocation) -> "AccessKeys":
        """The keys that sign reads of an S3 store: its bucket's own, if it is a named store.

        The gateway writes in the default store, so reads there are signed with their own keys,
        which may read alone. Raises StoreError.
        """
        from segments.store.s3.signing import AccessKeys

        if location != self._stores().default:
            aws = credentials.keys_of(location)
            if aws.access_key_id is not None and aws.secret_access_key is not None:
                return AccessKeys(aws.access_key_id, aws.secret_access_key, aws.session_token or "")
        return AccessKeys(self._settings.access_key_id, self._settings.secret_access_key)

    @property
    def gives_keys(self) -> bool:
        """True if callers can get keys that expire: one pair for the buckets of all stores."""
        default, named_stores = self._stores().default, self._stores().named_stores
        service = "s3", default.endpoint, default.region
        locations = [default, *(location for _, location in named_stores)]
        is_one = all((at.provider, at.endpoint, at.region) == service for at in locations)
        return bool(self._settings.sts_role_arn) and self.signs and is_one

    def delegate(self, kind: str, table: str, dataset_id: str, scope: DatasetScope) -> Delegation:
        """Return the properties that a client needs. Raises StoreError."""
        catalog = f"v1/{warehouse_of(scope)}" if scope.tenant else "v1"
        path = f"{catalog}/namespaces/default/tables/{quote(table, safe='')}"
        if kind == VENDED:
            return Delegation(kind, self._keys(dataset_id, f"{path}/credentials"))
        if kind != SIGNING:
            return Delegation("")
        endpoint = f"{path}/sign"
        if self._stores().default.provider in cloud_reads.PROVIDERS:
            return Delegation(kind, {"signer.endpoint": endpoint})
        # Clients find it below the catalog's own address; each generation has its name for it.
        config = {"s3.signer": "S3V4RestSigner", "s3.remote-signing-enabled": "true"}
        names = ("s3.signer.endpoint", "signer.endpoint")
        return Delegation(kind, config | dict.fromkeys(names, endpoint))

    def keys(self, table: str, dataset_id: str, scope: DatasetScope) -> Delegation:
        """Return keys for one dataset. Raises AccessRefused, StoreError."""
        if not self.gives_keys:
            raise AccessRefused(
                "this gateway gives out no keys for the store (GATEWAY_STS_ROLE_ARN): use keys of"
                " your own"
            )
        return self.delegate(VENDED, table, dataset_id, scope)

    def storage_credentials(self, given: Delegation) -> list[dict[str, Any]]:
        """Return keys in the form of the specification; none if reads are signed."""
        if given.kind != VENDED:
            return []
        roots = [self._stores().get(name).root for name in self._stores().names()]
        return [{"prefix": f"{root}/", "config": given.config} for root in dict.fromkeys(roots)]

    def sign(self, body: dict[str, Any], dataset_id: str) -> dict[str, Any]:
        """Sign a read of one dataset's object.

        Raises AccessRefused, OtherTable, RequestRefused, ObjectGone, StoreError.
        """
        cloud = self._cloud_of(body)
        if cloud is not None:
            return cloud_reads.sign(cloud, self._present, body, dataset_id)
        # botocore takes a third of a second, which most gateways need not spend.
        from segments.store.s3.signing import ReadRequest, sign

        if not self.signs:
            raise AccessRefused(
                "this gateway signs no reads of the store (GATEWAY_READ_ACCESS_KEY_ID, and on other"
                " clouds GATEWAY_AUTH_TOKEN): use keys of your own"
            )
        texts = [body.get(name) for name in ("method", "uri", "region")]
        if not all(isinstance(text, str) for text in texts):
            raise RequestRefused("method, uri and region must be text")
        method, url, region = map(str, texts)
        request = ReadRequest(method, url, region, _headers(body.get("headers", {})))
        location, object_key = self._find(request)
        cloud_reads.check_key(object_key, dataset_id)
        keys = self._keys_of(location)
        # The store would only say that there is no such key.
        self._present.check(
            object_key,
            lambda: self._missing_objects().is_missing(location, keys, url, region),
        )
        signed = sign(location, keys, request)
        return {"uri": url, "headers": {name: [value] for name, value in signed.items()}}

    def _cloud_of(self, body: dict[str, Any]) -> StoreLocation | None:
        """The store beyond S3 of the object that a request reads; None = S3, or nothing is read."""
        stores, method, url = self._stores(), body.get("method"), body.get("uri")
        for name in stores.names():
            location = stores.get(name)
            if location.provider in cloud_reads.PROVIDERS and self._signs_in(location):
                key = cloud_reads.find_key(location, str(method), str(url))
                if key is not None and store_of(key) == name:
                    return location
        default = stores.default
        is_cloud = default.provider in cloud_reads.PROVIDERS and self.signs
        # Its refusal names the missing part of a request.
        return default if is_cloud else None

    def _find(self, request: "ReadRequest") -> tuple[StoreLocation, str]:
        """The S3 store and the key of the object that a request reads, "" = of no store."""
        from segments.store.s3.signing import find_key

        stores = self._stores()
        for name in stores.names():
            location = stores.get(name)
            if location.provider == "s3" and self._signs_in(location):
                key = find_key(location, request)
                # Two stores may share a bucket; and only its key locates an object.
                if key is not None and store_of(key) == name:
                    return location, key
        return stores.default, ""

    def _missing_objects(self) -> "MissingObjects":
        from segments.store.s3.missing_objects import MissingObjects

        with self._lock:
            if self._missing is None:
                self._missing = MissingObjects()
            return self._missing

    def _keys(self, dataset_id: str, endpoint: str) -> dict[str, str]:
        from segments.store.s3.session_keys import TokenService, assume_role, read_policy
        from segments.store.s3.signing import AccessKeys

        stores = self._stores()
        key = (stores, dataset_id)
        session = self._kept.find(key)
        half_used = (self._clock() + self._settings.sts_secs / 2) * 1_000
        if session is None or session.expires_at_millis < half_used:
            prefixes = (f"dataset/{dataset_id}/", table_prefix(dataset_id))
            own_keys = AccessKeys(self._settings.access_key_id, self._settings.secret_access_key)
            service = TokenService(
                self._settings.sts_role_arn,
                own_keys,
                self._settings.sts_endpoint,
                self._settings.sts_secs,
            )
            locations = [stores.get(name) for name in stores.names()]
            session = assume_role(service, stores.default, read_policy(locations, prefixes))
            self._kept.keep(key, session)
        return {
            "s3.access-key-id": session.keys.access_key_id,
            "s3.secret-access-key": session.keys.secret_access_key,
            "s3.session-token": session.keys.session_token,
            "s3.session-token-expires-at-ms": str(session.expires_at_millis),
            "client.refresh-credentials-endpoint": endpoint,
        }


def _headers(headers: Any) -> dict[str, str]:
    """Return one value of each header, by its name in lower case. Raises RequestRefused."""
    if not isinstance(headers, dict) or len(headers) > _HEADERS_MAX:
        raise RequestRefused(f"headers is not an object of at most {_HEADERS_MAX} names and values")
    plain: dict[str, str] = {}
    for name, values in headers.items():
        is_one = isinstance(values, list) and len(values) == 1 and isinstance(values[0], str)
        if is_one and _HEADER.fullmatch(values[0]):
            plain[name.lower()] = values[0]
    return plain
