"""A driver of readers that pin versions."""

from dataclasses import dataclass
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb


@dataclass(frozen=True)
class PinDriver:
    """Takes, renews and releases pins of one owner."""

    client: MetaClient
    owner: str = "reader"

    def take(
        self,
        dataset_name: str = "web",
        *,
        version: int | None = None,
        pin_id: str = "",
        lease_secs: int = 60,
        holds_changes: bool = False,
        as_of_nanos: int | None = None,
    ) -> pb.Pin:
        request = pb.PinVersionRequest(
            pin_id=pin_id or str(uuid4()),
            owner=self.owner,
            dataset_name=dataset_name,
            version=version,
            lease_secs=lease_secs,
            holds_changes=holds_changes,
            as_of_nanos=as_of_nanos,
        )
        return self.client.operations.PinVersion(request).pin

    def renew(self, pin: pb.Pin, lease_secs: int = 60) -> pb.Pin:
        request = pb.RenewPinRequest(pin_id=pin.id, lease_secs=lease_secs)
        return self.client.operations.RenewPin(request).pin

    def release(self, pin: pb.Pin, *, by_operator: bool = False) -> bool:
        request = pb.ReleasePinRequest(pin_id=pin.id, by_operator=by_operator)
        return self.client.operations.ReleasePin(request).success

    def list(self, **filters: str) -> list[pb.Pin]:
        request = pb.ListPinsRequest(**filters)  # type: ignore[arg-type]
        return list(self.client.operations.ListPins(request).pins)
