"""The catalog of a recording: datasets, settings, views, tokens. Each dict is a request as JSON."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.releases.client import DescribedClient
from tests.support.waiting import wait_until

DATASETS = ("web", "orders", "empty", "gone")
ROLES = ("ingest", "nursery", "merge", "janitor", "reader", "gateway", "catalog")
# A hundred years: nothing of a recording is old enough to be deleted.
_RETENTION = f"{36_500 * 86_400}s"
# Of datasets whose merged baby segments and replaced segments stay in the bucket.
_GRACE = "86400s"
_PROMOTED = [
    {"name": "record", "type": "KQL_TYPE_STRING", "scope": "ATTRIBUTE_SCOPE_RECORD"},
    {"name": "attempt", "type": "KQL_TYPE_LONG", "scope": "ATTRIBUTE_SCOPE_RECORD"},
]
_ATTRIBUTES = ("record.id", "attempt")
SETTINGS = {
    "web": {
        "tombstone_grace": _GRACE,
        "promoted_columns": {
            "columns": [
                column | {"attribute": attribute}
                for column, attribute in zip(_PROMOTED, _ATTRIBUTES, strict=True)
            ]
        },
    },
    "orders": {
        "tombstone_grace": _GRACE,
        "event_retention": _RETENTION,
        "created_retention": _RETENTION,
        "records_per_month": "1000000",
        "ingest_limits": {"bytes_per_sec": "10000000", "exports_in_flight": "100"},
        "excess_events_allowed": "5",
    },
}


@dataclass
class Tokens:
    """Plaintexts by name: ingest tokens, and access tokens by role."""

    ingest: dict[str, str] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=dict)


def make_catalog(admin: DescribedClient) -> Tokens:
    """Make all of it."""
    ids = {
        name: str(admin.call("CatalogService.CreateDataset", {"name": name})["id"])
        for name in DATASETS
    }
    for name, settings in SETTINGS.items():
        request = {"dataset_id": ids[name], "settings": settings}
        admin.call("OperationsService.SetDatasetSettings", request)
    fields = [{"field_name": "service_name", "weight": 2}]
    admin.call("CatalogService.SetShardingFields", {"name": "web", "fields": fields})
    _make_views(admin, ids)
    return _make_tokens(admin, ids)


def revoke(admin: DescribedClient, name: str) -> None:
    """Revoke an ingest token, by name."""
    tokens = admin.call("IngestTokenService.ListIngestTokens")["tokens"]
    (token_id,) = (token["id"] for token in tokens if token["name"] == name)
    admin.call("IngestTokenService.RevokeIngestToken", {"token_id": token_id})


def delete_dataset(admin: DescribedClient, name: str, **options: bool) -> None:
    """Delete a dataset that no token routes to, once the nursery has ended its entries."""
    dataset_id = admin.call("CatalogService.GetDataset", {"name": name})["id"]

    def is_drained() -> bool:
        streams = admin.call("NurseryService.GetIngestStreamsForNursery")["streams"]
        entries = [entry for stream in streams for entry in stream.get("datasets", [])]
        return all(entry["dataset_id"] != dataset_id for entry in entries)

    wait_until(is_drained, f"no stream has an entry of {name}", poll_secs=0.2)
    admin.call("CatalogService.DeleteDataset", {"id": dataset_id, **options})


def create(admin: DescribedClient, kind: str, **fields: Any) -> str:
    """Create an entry of the catalog; returns its id."""
    return str(admin.call(f"CatalogService.Create{kind}", fields)["id"])


def _make_views(admin: DescribedClient, ids: dict[str, str]) -> None:
    columns = [
        {"name": "severity_number", "type": "KQL_TYPE_INT"},
        {"name": "body", "type": "KQL_TYPE_STRING"},
    ]
    schema = create(admin, "Schema", name="failures", columns=columns)
    view = create(admin, "View", name="failures", description="all errors", schema_id=schema)
    text = "where severity_number >= 17 | project severity_number, body"
    projection = create(admin, "Projection", name="errors", projection=text, schema_id=schema)
    for name in ("web", "orders"):
        link = {"dataset_id": ids[name], "view_id": view, "projection_id": projection}
        admin.call("CatalogService.LinkViewDatasetProjection", link)
    create(admin, "View", name="unlinked")
    create(admin, "Projection", name="unlinked", projection="extend size = strlen(body)")


def _make_tokens(admin: DescribedClient, ids: dict[str, str]) -> Tokens:
    tokens = Tokens()
    for name, dataset in {
        "frontend": "web",
        "shop": "web",
        "old": "gone",
        "revoked": "web",
    }.items():
        request = {"name": name, "dataset_name": dataset}
        reply = admin.call("IngestTokenService.CreateIngestToken", request)
        tokens.ingest[name] = reply["plaintext_token"]
        ids[name] = reply["token"]["id"]
    routing = {
        "logs_dataset_id": ids["orders"],
        "traces_dataset_id": ids["web"],
        "metrics_dataset_id": ids["web"],
    }
    route = {"token_id": ids["shop"], "routing": routing}
    admin.call("IngestTokenService.UpdateIngestTokenRouting", route)
    admin.call("IngestTokenService.RevokeIngestToken", {"token_id": ids["revoked"]})
    for role in ROLES:
        tokens.access[role] = _access_token(admin, subject=f"{role}-eu", role=role)
    scoped = {"subject": "analyst", "role": "reader", "dataset_names": ["orders"]}
    tokens.access["reader of orders"] = _access_token(admin, **scoped)
    request = {"subject": "former", "role": "admin"}
    created = admin.call("OperationsService.CreateAccessToken", request)
    request = {"token_id": created["token"]["id"]}
    admin.call("OperationsService.RevokeAccessToken", request)
    tokens.access["revoked"] = created["plaintext_token"]
    return tokens


def _access_token(admin: DescribedClient, **fields: Any) -> str:
    return str(admin.call("OperationsService.CreateAccessToken", fields)["plaintext_token"])
