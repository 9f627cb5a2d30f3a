"""Readers of a canary's records: meta and the bucket themselves, or a gateway."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from segplane.cli.delivery import NUMBER, RUN, numbers_of

_REQUEST_SECS = 60.0
_REPLY_BYTES_MAX = 2**20


class UnreadableDataset(Exception):
    """The dataset cannot be read now; the message says why."""


class ProbeReader(Protocol):
    """Reader of the records of one run, by the steps that it can tell apart."""

    @property
    def step_names(self) -> tuple[str, ...]:
        """Steps after the acknowledgement, in their order."""

    @property
    def measured(self) -> str:
        """The meaning of the steps, for people."""

    def numbers(self, step: str, run: str, start_nanos: int) -> list[int]:
        """Read the numbers of a run's records from a time on."""


@dataclass(frozen=True, slots=True)
class DirectReader:
    """Reads through meta and from the bucket, fresh records as well."""

    dataset: str
    address: str

    @property
    def step_names(self) -> tuple[str, ...]:
        """Steps after the acknowledgement, in their order."""
        return ("visible", "merged")

    @property
    def measured(self) -> str:
        """The meaning of the steps, for people."""
        return "visible is to readers of fresh records, merged is in segments"

    def numbers(self, step: str, run: str, start_nanos: int) -> list[int]:
        """Read the numbers of a run's records from a time on. Raises ReadError, MetaError."""
        from segplane.read import open_dataset

        with open_dataset(
            self.dataset,
            "logs",
            start_nanos,
            columns=["attributes"],
            fresh=step == "visible",
            meta_address=self.address,
        ) as dataset:
            return numbers_of(dataset, run)


@dataclass(frozen=True, slots=True)
class GatewayReader:
    """Asks a gateway, which serves merged records only."""

    dataset: str
    url: str
    token: str

    @property
    def step_names(self) -> tuple[str, ...]:
        """Steps after the acknowledgement, in their order."""
        return ("visible",)

    @property
    def measured(self) -> str:
        """The meaning of the steps, for people."""
        return "visible is merged: queries of a gateway read no fresh records"

    def numbers(self, step: str, run: str, start_nanos: int) -> list[int]:  # noqa: ARG002
        """Read the numbers of a run's records from a time on. Raises UnreadableDataset."""
        start = datetime.fromtimestamp(start_nanos // 10**9, UTC)
        name = self.dataset.replace("\\", "\\\\").replace("'", "\\'")
        query = (
            f"['{name}'] | where timestamp >= datetime({start:%Y-%m-%dT%H:%M:%SZ})"
            f" | where tostring(attributes['{RUN}']) == '{run}'"
            f" | project number = tolong(attributes['{NUMBER}'])"
        )
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        body = json.dumps({"query": query, "language": "kql"}).encode()
        request = Request(f"{self.url.rstrip('/')}/v1/query", body, headers)
        try:
            with urlopen(request, timeout=_REQUEST_SECS) as answer:
                rows = json.loads(answer.read(_REPLY_BYTES_MAX))
        except HTTPError as error:
            text = error.read(500).decode(errors="replace")
            raise UnreadableDataset(f"the gateway answers {error.code}: {text}") from None
        except (OSError, ValueError) as error:
            raise UnreadableDataset(f"the gateway at {self.url} cannot be read: {error}") from None
        return [int(row["number"]) for row in rows]
