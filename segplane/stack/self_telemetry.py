"""Telemetry of a stack's own processes: its dataset, its ingest token, its exporters' variables.

The token and the id of the dataset are kept in a file, because meta shows a token's secret once,
and its own exporter needs both before it can be asked.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from meta.client import MetaClient
from meta.errors import NotFound, TokenUnknown
from meta.process.observability import TELEMETRY_DATASET
from meta.process.setting_names import COMMON
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2, resources_pb2
from segments.ids import new_uuid7
from segments.signals import TRAITS
from segplane.terminal.whole_files import whole_file

DATASET = "segplane"
RETENTION = timedelta(days=3)
_EXPORTER = "OTEL_EXPORTER_OTLP_"
# Those of the user win. The first exports wait until the collector serves.
PACE = {
    "OTEL_METRIC_EXPORT_INTERVAL": "60000",
    "OTEL_BSP_SCHEDULE_DELAY": "5000",
    "OTEL_BLRP_SCHEDULE_DELAY": "5000",
}
_START_SECS = "60"


@dataclass(frozen=True, slots=True)
class TelemetryTarget:
    """The dataset that the processes send to, and a token that routes all signals there."""

    dataset_id: str
    token: str

    def environment(self, endpoint: str, inherited: Mapping[str, str]) -> dict[str, str]:
        """Variables of the processes that send to the collector at `endpoint`."""
        pace = {name: inherited.get(name, text) for name, text in PACE.items()}
        return pace | {
            f"{_EXPORTER}ENDPOINT": endpoint,
            f"{_EXPORTER}PROTOCOL": "http/protobuf",
            f"{_EXPORTER}HEADERS": f"authorization=Bearer%20{self.token}",
            f"{_EXPORTER}TIMEOUT": _START_SECS,
            f"{COMMON}{TELEMETRY_DATASET}": f"{DATASET}={self.dataset_id}",
        }


def why_not(inherited: Mapping[str, str]) -> str:
    """Return the reason for which processes cannot send to their own collector; "" = they can.

    A destination that a user has set is never replaced.
    """
    if find_spec("opentelemetry.exporter") is None:
        return "--self-telemetry needs OpenTelemetry: pip install 'segplane-server[telemetry]'"
    taken = sorted(name for name in inherited if name.startswith(_EXPORTER))
    if taken:
        return f"--self-telemetry and {taken[0]} exclude each other: unset {' and '.join(taken)}"
    return ""


def path_in(data_dir: Path) -> Path:
    """Return the file of the dataset's id and the token, which its owner alone can read."""
    return data_dir / "self-telemetry.json"


def kept(path: Path) -> TelemetryTarget | None:
    """Return the content of the file; None if there is none."""
    with suppress(OSError, ValueError, TypeError):
        return TelemetryTarget(**json.loads(path.read_text()))
    return None


def ready(client: MetaClient, path: Path) -> tuple[TelemetryTarget, timedelta]:
    """Return the content of the file, renewed if it is not in force; and the dataset's retention.

    It may be repeated after any failure: at worst a token stays that nobody has.
    """
    target = kept(path)
    if target is None or not _is_valid(client, target):
        target = _create(client)
        with whole_file(path, mode=0o600) as file:
            file.write(json.dumps(asdict(target)).encode())
    return target, _retention(client, target.dataset_id)


def _create(client: MetaClient) -> TelemetryTarget:
    """Create the dataset, if there is none, and a token."""
    created = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=DATASET))
    _set_retention(client, created.id)
    token = client.ingest_token.CreateIngestToken(
        ingest_token_pb2.CreateIngestTokenRequest(
            # Names of tokens are never reused, so each one is new.
            name=f"self-telemetry {new_uuid7()}",
            dataset_name=DATASET,
        )
    )
    return TelemetryTarget(created.id, token.plaintext_token)


def _retention(client: MetaClient, dataset_id: str) -> timedelta:
    """Return the age at which the dataset's records are deleted; 0 = they are kept."""
    request = operations_pb2.GetDatasetSettingsRequest(dataset_id=dataset_id)
    return client.operations.GetDatasetSettings(request).settings.event_retention.ToTimedelta()


def _is_valid(client: MetaClient, target: TelemetryTarget) -> bool:
    request = ingest_token_pb2.ValidateIngestTokenRequest(plaintext_token=target.token)
    dataset = catalog_pb2.GetDatasetRequest(id=target.dataset_id)
    try:
        routing = client.ingest_token.ValidateIngestToken(request).routing
        if client.catalog.GetDataset(dataset).name != DATASET:
            return False
    except (TokenUnknown, NotFound):
        return False
    ids = {getattr(routing, row.routing_field) for row in TRAITS.values()}
    return ids == {target.dataset_id}


def _set_retention(client: MetaClient, dataset_id: str) -> None:
    """Bound the age of the records, unless there are some or a bound: those are the user's."""
    numbers = resources_pb2.GetDatasetNumbersRequest(id=dataset_id)
    has_segments = client.resources.GetDatasetNumbers(numbers).segment_count > 0
    if has_segments or _retention(client, dataset_id):
        return
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=dataset_id)
    request.settings.event_retention.FromTimedelta(RETENTION)
    client.operations.SetDatasetSettings(request)
