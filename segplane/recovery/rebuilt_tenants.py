"""Tenants of a rebuilt catalog: those of the bucket, and `unassigned` for what names none."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from meta.access import DEFAULT
from meta.store.recovery.returned_tenants import RestoredTenant
from segments import noted_names
from segments.dataset_names import UNASSIGNED
from segments.ids import new_uuid7
from segments.noted_names import SUSPENDED, TENANT, NotedName
from segments.store.interface import ObjectStore


@dataclass(slots=True)
class RebuiltTenants:
    """The tenants besides `default`; `warnings` say which of them could not have their names.

    Without one everything is of `default`.
    """

    tenants: dict[UUID, RestoredTenant] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def of(self, claim: NotedName | None) -> UUID:
        """The tenant that an object names; `default` if it is the only one, else `unassigned`."""
        if not self.tenants:
            return DEFAULT.id
        if claim is not None and claim.tenant_id:
            tenant_id = UUID(claim.tenant_id)
            if tenant_id == DEFAULT.id or tenant_id in self.tenants:
                return tenant_id
        return self._unassigned()

    def prefix(self, tenant_id: UUID) -> str:
        """The beginning of the names of a tenant's datasets as operators read them."""
        return "" if tenant_id == DEFAULT.id else f"//{self.tenants[tenant_id].name}/"

    def keep(self, tenant_ids: Iterable[UUID]) -> None:
        """Leave out deleted tenants that have nothing."""
        used = frozenset(tenant_ids)
        for tenant_id, tenant in list(self.tenants.items()):
            if tenant.is_deleted and tenant_id not in used:
                del self.tenants[tenant_id]

    def _unassigned(self) -> UUID:
        for tenant_id, tenant in self.tenants.items():
            if tenant.name == UNASSIGNED and not tenant.is_deleted:
                return tenant_id
        tenant_id = new_uuid7()
        self.tenants[tenant_id] = RestoredTenant(UNASSIGNED)
        return tenant_id


def read_tenants(store: ObjectStore) -> RebuiltTenants:
    """Read the tenants of a bucket; of two live ones with a name the older has it.

    One whose object cannot be read is suspended.
    """
    objects = noted_names.newest(store, TENANT)
    noted = noted_names.read(store, objects)
    rebuilt, taken = RebuiltTenants(), {DEFAULT.name}
    for tenant_id, item in objects.items():
        claim = noted.get(tenant_id)
        made = RestoredTenant(f"rebuilt-{tenant_id}", SUSPENDED, item.number + 1, item.number)
        if claim is not None:
            made = RestoredTenant(claim.name, claim.state, item.number, item.number)
            if claim.name in taken and not made.is_deleted:
                rebuilt.warnings.append(
                    f"tenant {tenant_id} was named {claim.name!r}: another one has that name"
                )
                name = f"rebuilt-{tenant_id}"
                made = RestoredTenant(name, claim.state, item.number + 1, item.number)
        if not made.is_deleted:
            taken.add(made.name)
        rebuilt.tenants[UUID(tenant_id)] = made
    return rebuilt
