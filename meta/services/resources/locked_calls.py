"""The table of calls and locks: for each call that takes something away, the locks that refuse it.

A server wraps the handlers of calls that a lock may refuse. Each write of such a handler then
begins by finding the resources that the call changes, keeping them from being locked, and looking
at their locks; see `meta.store.locks.resource_locks`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from meta.commits.transactions import precondition
from meta.services.resources.lock_targets import (
    Finder,
    Targets,
    bound_datasets,
    dataset_braked,
    dataset_moved,
    dataset_moved_on,
    dataset_named,
    datasets_through,
    datasets_unbound,
    field,
    group_named,
    named,
    payload_datasets,
    referred,
    segment_datasets,
    skipped_datasets,
    views_through,
)
from meta.store.catalog.resources import ResourceKind
from meta.store.engine.pool import Conflict, Transaction
from meta.store.locks import resource_locks

Kind = ResourceKind


@dataclass(frozen=True, slots=True)
class LockRule:
    """The locks that refuse a call, by kind, with the function that finds what they would be on."""

    refused_by: Mapping[ResourceKind, Finder]

    def targets(self, tx: Transaction, request: Any) -> Targets:
        """The resources whose locks refuse a request."""
        return {kind: find(tx, request) for kind, find in self.refused_by.items()}


def _by(**finders: Finder) -> LockRule:
    return LockRule({ResourceKind[kind.upper()]: find for kind, find in finders.items()})


LOCK_RULES: Mapping[str, LockRule] = {
    # Datasets.
    "DeleteDataset": _by(dataset=dataset_named, view=views_through("dataset", dataset_named)),
    "RenameDataset": _by(dataset=field("dataset_id")),
    "MoveDatasetToTenant": _by(dataset=field("dataset_id")),
    "SetDatasetSettings": _by(dataset=field("dataset_id")),
    "SetShardingFields": _by(dataset=dataset_named),
    # To another store, begun or resumed.
    "CreateRewriteJob": _by(dataset=dataset_moved),
    "UpdateRewriteJob": _by(dataset=dataset_moved_on),
    # An approval of deletions.
    "ReleaseDeletionHold": _by(dataset=dataset_braked),
    # Groups.
    "RenameGroup": _by(group=group_named),
    "DeleteGroup": _by(group=group_named),
    # Schemas, views, projections.
    "UpdateSchema": _by(schema=named(Kind.SCHEMA), dataset=datasets_unbound),
    "DeleteSchema": _by(schema=named(Kind.SCHEMA), dataset=bound_datasets),
    "UpdateView": _by(view=named(Kind.VIEW)),
    "DeleteView": _by(view=named(Kind.VIEW), dataset=datasets_through("view", named(Kind.VIEW))),
    "UpdateProjection": _by(projection=named(Kind.PROJECTION)),
    "DeleteProjection": _by(
        projection=named(Kind.PROJECTION),
        dataset=datasets_through("projection", named(Kind.PROJECTION)),
        view=views_through("projection", named(Kind.PROJECTION)),
    ),
    "LinkViewDatasetProjection": _by(view=field("view_id")),
    "UnlinkViewDatasetProjection": _by(
        view=field("view_id"), dataset=field("dataset_id"), projection=field("projection_id")
    ),
    # Tokens.
    "RevokeIngestToken": _by(ingest_token=field("token_id")),
    "DeleteIngestToken": _by(ingest_token=field("token_id")),
    "UpdateIngestTokenRouting": _by(ingest_token=field("token_id")),
    # Records that an operator gives up or changes.
    "HideSegment": _by(dataset=segment_datasets),
    "ReplaceSegment": _by(dataset=segment_datasets),
    "TakeBackReplacement": _by(dataset=segment_datasets),
    "DropPayload": _by(dataset=payload_datasets),
    "SkipOffset": _by(dataset=skipped_datasets),
    # Notes, labels and contexts.
    "UpdateResource": _by(
        dataset=referred(Kind.DATASET),
        group=referred(Kind.GROUP),
        schema=referred(Kind.SCHEMA),
        view=referred(Kind.VIEW),
        projection=referred(Kind.PROJECTION),
        ingest_token=referred(Kind.INGEST_TOKEN),
    ),
}


def guarded(rpc: str, handler: Any) -> Any:
    """The handler of a call, which the locks of its row refuse; others are as they were."""
    rule = LOCK_RULES.get(rpc)
    if rule is None:
        return handler
    inner: Callable[[Any], Any] = handler.unary_unary

    def call(request: Any) -> Any:
        outer = precondition.set(partial(_check, rule, request))
        try:
            return inner(request)
        finally:
            precondition.reset(outer)

    return handler._replace(unary_unary=call)


def _check(rule: LockRule, request: Any, tx: Transaction) -> None:
    """Keep what a request changes from being locked. Raises Locked if it is, Conflict if it moved.

    A name may have become that of another resource before the rows were taken.
    """
    targets = rule.targets(tx, request)
    if any(targets.values()):
        resource_locks.keep(tx, targets)
        if rule.targets(tx, request) != targets:
            raise Conflict("40001")
