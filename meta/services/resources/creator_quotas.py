"""Quotas of creators: set, list."""

from dataclasses import asdict
from typing import Literal

from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import creator_quotas
from meta.store.access.creator_quotas import CreatorUsage
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades
from meta.v1 import resources_pb2 as pb

_LIMITS: tuple[Literal["datasets", "records_per_month"], ...] = ("datasets", "records_per_month")


def set_creator_quota(
    server: ServerParts, request: pb.SetCreatorQuotaRequest
) -> pb.SetCreatorQuotaResponse:
    """Set the given quotas of a creator; those in effect already are fine."""
    creator = _creator(request.creator)
    values: dict[str, int] = {
        n: checks.count(getattr(request, n), n, low=-1) for n in _LIMITS if request.HasField(n)
    }

    def work(tx: Transaction) -> CreatorUsage:
        # A meta of an earlier release creates datasets beyond it.
        upgrades.require_finished(tx, "a quota of a creator")
        creator_quotas.change(tx, creator, values)
        return _list(server, tx, creator)[0]

    return pb.SetCreatorQuotaResponse(quota=_message(server.transactions.write(work)))


def list_creator_quotas(
    server: ServerParts, request: pb.ListCreatorQuotasRequest
) -> pb.ListCreatorQuotasResponse:
    """Read the creators that have quotas, or one creator."""
    creator = _creator(request.creator) if request.HasField("creator") else None
    listed = server.transactions.read(lambda tx: _list(server, tx, creator))
    return pb.ListCreatorQuotasResponse(quotas=map(_message, listed))


def _list(server: ServerParts, tx: Transaction, creator: str | None) -> list[CreatorUsage]:
    return creator_quotas.list_usage(tx, creator, server.settings.datasets_per_creator_max)


def _creator(value: str) -> str:
    return checks.name(value, "creator") if value else creator_quotas.DEFAULT


def _message(usage: CreatorUsage) -> pb.CreatorQuota:
    return filled(pb.CreatorQuota, usage, **asdict(usage.quota))
