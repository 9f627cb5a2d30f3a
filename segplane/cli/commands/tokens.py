"""segplane tokens: ingest tokens and the routing of their signals."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from meta.client import MetaClient, paged_lists
from meta.v1 import catalog_pb2
from meta.v1 import ingest_token_pb2 as pb
from segments.signals import TRAITS
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.output import NONE, AsJson, author_facts, print_facts, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Create, list, route and revoke ingest tokens.")
TokenId = Annotated[str, typer.Argument(help="Token id, as `tokens list` shows it.")]
Signal = Annotated[str | None, typer.Option(help="Dataset name; '' refuses the signal.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the token; never reused.")],
    dataset: Annotated[str, typer.Option(help="Dataset that all its signals go to.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Create a token. Its secret is printed once and not stored."""
    request = pb.CreateIngestTokenRequest(name=name, dataset_name=dataset)
    with connect(address) as client:
        reply = client.ingest_token.CreateIngestToken(request)
    print(reply.plaintext_token)
    print(f"token {reply.token.id}; keep the line above, it is not stored", file=sys.stderr)


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the tokens, revoked ones too."""
    with connect(address) as client:
        tokens = list(_all_tokens(client))
    if as_json:
        print_json(tokens)
        return
    rows = [
        (
            t.id,
            t.name,
            f"...{t.token_hint}",
            t.created_at,
            t.revoked_at or NONE,
            "previous" if t.needs_previous_pepper else "",
        )
        for t in tokens
    ]
    print_table(("id", "name", "token", "created", "revoked", "pepper"), rows)


def _all_tokens(client: MetaClient) -> Iterator[pb.IngestTokenInfo]:
    request = pb.ListIngestTokensRequest()
    for page in paged_lists.replies(client.ingest_token.ListIngestTokens, request):
        yield from page.tokens


@app.command()
def show(
    token_id: TokenId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Show one token and the dataset of each signal."""
    with connect(address) as client:
        token = client.ingest_token.GetIngestToken(
            pb.GetIngestTokenRequest(token_id=token_id)
        ).token
    if as_json:
        print_json(token)
        return
    print_facts(
        (
            ("id", token.id),
            ("name", token.name),
            ("created", token.created_at),
            ("revoked", token.revoked_at or NONE),
            *author_facts(token.authors),
            *(
                (signal, getattr(token.routing, row.routing_field) or "refused")
                for signal, row in TRAITS.items()
            ),
        )
    )


@app.command()
def route(
    token_id: TokenId,
    logs: Signal = None,
    traces: Signal = None,
    metrics: Signal = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Route a token's signals to other datasets; signals that are not named keep theirs."""
    if logs is None and traces is None and metrics is None:
        raise usage("nothing to change: give --logs, --traces or --metrics")
    with connect(address) as client:
        request = pb.GetIngestTokenRequest(token_id=token_id)
        routing = client.ingest_token.GetIngestToken(request).token.routing
        if logs is not None:
            routing.logs_dataset_id = _dataset_id(client, logs)
        if traces is not None:
            routing.traces_dataset_id = _dataset_id(client, traces)
        if metrics is not None:
            routing.metrics_dataset_id = _dataset_id(client, metrics)
        update = pb.UpdateIngestTokenRoutingRequest(token_id=token_id, routing=routing)
        # Each repetition lets more streams follow; meta continues by itself if this one is stopped.
        while client.ingest_token.UpdateIngestTokenRouting(update).is_continued:
            pass


@app.command()
def revoke(token_id: TokenId, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Revoke a token; collectors refuse it within 5 s. Records it has sent are kept."""
    with connect(address) as client:
        client.ingest_token.RevokeIngestToken(pb.RevokeIngestTokenRequest(token_id=token_id))


@app.command()
def delete(token_id: TokenId, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Delete a revoked token once everything it sent is merged."""
    with connect(address) as client:
        client.ingest_token.DeleteIngestToken(pb.DeleteIngestTokenRequest(token_id=token_id))


def _dataset_id(client: MetaClient, name: str) -> str:
    if not name:
        return ""
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id
