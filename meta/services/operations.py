"""Services of Segplane's own: functions by the names of their RPCs in lower case."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from inspect import getmembers, isfunction
from types import ModuleType
from typing import Any

from meta.services.access import access_tokens, audit_log, server_state
from meta.services.backups import backups
from meta.services.catalog import dataset_settings, datasets
from meta.services.checks import consistency, object_checks, repairs
from meta.services.costs import costs
from meta.services.damage import damage, quarantine
from meta.services.deletion import objects
from meta.services.iceberg import tables
from meta.services.lookup import changes, unmerged_babies
from meta.services.merging import exclusions, merge_attempts, merge_plan
from meta.services.pins import pins
from meta.services.registration import deduplication, registrations
from meta.services.resources import (
    creator_quotas,
    dataset_numbers,
    groups,
    locks,
    metric_names,
    resources,
    tenant_moves,
    tenant_shares,
    tenants,
    vacuums,
)
from meta.services.rewrites import rewrite_jobs
from meta.services.segments import unread_segments
from meta.services.server_parts import ServerParts
from meta.services.status import (
    deletion_plan,
    explanations,
    freshness,
    lineages,
    pipeline,
    processes,
    retention_preview,
    stream_lists,
)
from meta.services.streams import nursery_shards, stream_offsets
from meta.services.workers import workers

OPERATIONS = (
    access_tokens,
    audit_log,
    server_state,
    backups,
    dataset_settings,
    datasets,
    consistency,
    object_checks,
    repairs,
    costs,
    damage,
    quarantine,
    objects,
    tables,
    changes,
    unmerged_babies,
    exclusions,
    merge_plan,
    pins,
    deduplication,
    registrations,
    rewrite_jobs,
    unread_segments,
    nursery_shards,
    stream_offsets,
    workers,
)
RESOURCES = (
    resources,
    dataset_numbers,
    groups,
    locks,
    vacuums,
    creator_quotas,
    tenants,
    metric_names,
    tenant_moves,
    tenant_shares,
)
STATUS = (
    processes,
    freshness,
    explanations,
    deletion_plan,
    retention_preview,
    lineages,
    pipeline,
    stream_lists,
    merge_attempts,
)


def find_in(modules: Sequence[ModuleType], server: ServerParts) -> Callable[[str], Any]:
    """Return what finds the function of an RPC, which takes the request; see docs/contract.md."""
    functions = dict(member for module in modules for member in getmembers(module, isfunction))
    return lambda rpc: partial(functions[re.sub(r"\B(?=[A-Z])", "_", rpc).lower()], server)
