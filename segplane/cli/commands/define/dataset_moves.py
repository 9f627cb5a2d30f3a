"""segplane datasets move: a dataset becomes another tenant's."""

import sys
from collections.abc import Iterator
from typing import Annotated

import click

from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient, resources_pb2
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import Answer
from segplane.cli.parameters import Positional


def move(
    client: MetaClient,
    name: Dataset,
    tenant: Annotated[str, Positional(help="The tenant that gets it.", metavar="TENANT")],
    new_name: str | None = None,
    copy_schema: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> Answer:
    """Move a dataset to another tenant, which then sees all versions of it; the former one none.

    It comes into the default group. The command prints the consequences before it asks.

    Options:
        new_name: Its name in the tenant; by default its present one, without its group.
        copy_schema: Copy the schema that it is bound to; without this a bound one refuses the move.
        dry_run: Print what would be done.
        yes: Do not ask.
    """
    request = resources_pb2.MoveDatasetToTenantRequest(
        dataset_id=dataset_id(client, name),
        tenant_name=tenant,
        new_name=new_name,
        copy_schema=copy_schema,
        dry_run=True,
    )
    planned = client.resources.MoveDatasetToTenant(request)
    if dry_run or not planned.success:
        return Answer(planned, _plan(name, planned))
    if not yes:
        if not sys.stdin.isatty():
            raise refusal("nobody can be asked here: look at --dry-run, then add --yes")
        click.echo("\n".join(_plan(name, planned)), err=True)
        click.confirm("Move it?", abort=True, err=True)
    request.dry_run = False
    moved = client.resources.MoveDatasetToTenant(request)
    return Answer(moved, [f"{moved.dataset_name} is of tenant {moved.tenant.name}"])


def _plan(name: str, planned: "resources_pb2.MoveDatasetToTenantResponse") -> Iterator[str]:
    tenant, former = planned.tenant.name, planned.former_tenant.name
    if not planned.success:
        yield f"tenant {tenant} has dataset {name} already"
        return
    yield f"dataset {name} of tenant {former} becomes {planned.dataset_name} of tenant {tenant}"
    yield f"tenant {tenant} sees all versions of it, tenant {former} none, also by pins and cursors"
    if planned.copied_schema:
        yield f"schema {planned.copied_schema} is copied to tenant {tenant}"
    for token in planned.tokens:
        yield f"token {token.name} ({token.id}) sends nothing there any more"
    if more := planned.num_tokens - len(planned.tokens):
        yield f"{more} more tokens send nothing there any more"
