"""Names of a tenant's datasets in metrics."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.access import tenants
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.tenancy import metric_names
from meta.v1 import resources_pb2 as pb


def set_metric_names(
    server: ServerParts, request: pb.SetMetricNamesRequest
) -> pb.SetMetricNamesResponse:
    """Let metrics name the datasets of the caller's tenant, or of one that is named, or not."""
    is_named = request.WhichOneof("identifier") is not None
    identifier = checks.identifier(request) if is_named else None
    if identifier is not None and scope.tenant_key() is not None:
        raise InvalidArgument("only an operator names a tenant", field="identifier")

    def work(tx: Transaction) -> None:
        key = scope.naming_key() if identifier is None else tenants.get(tx, identifier).key
        metric_names.set_allowed(tx, key, is_allowed=request.allowed)

    server.transactions.write(work)
    return pb.SetMetricNamesResponse(allowed=request.allowed)
