"""segplane tokens: ingest tokens and the routing of their signals."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, catalog_pb2
from segplane.cli.messages import ingest_token_pb2 as pb
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import dataset_id, ingest_token_id
from segplane.cli.output import NONE, Answer, Fact, author_facts, facts
from segplane.cli.parameters import Option, Positional
from segplane.cli.secret_files import SecretFile, secret_output

if TYPE_CHECKING:
    from google.protobuf.message import Message


TokenId = Annotated[
    str, Positional(metavar="TOKEN", help="Name or id; of a revoked one its id.", names_of="tokens")
]
Signal = Annotated[str | None, Option(help="Dataset name; '' refuses the signal.")]


def _facts(client: MetaClient, token: "pb.IngestTokenInfo") -> Iterable[Fact]:
    from segments.signals import TRAITS

    yield "id", token.id
    yield "name", token.name
    yield "created", token.created_at
    yield "revoked", token.revoked_at or NONE
    yield from author_facts(token.authors)
    for signal, row in TRAITS.items():
        yield signal, _dataset_name(client, getattr(token.routing, row.routing_field))


def _dataset_name(client: MetaClient, id_: str) -> str:
    """Return the name of a dataset, or the id of one that was deleted."""
    from meta.errors import NotFound

    if not id_:
        return "refused"
    try:
        return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=id_)).name
    except NotFound:
        return id_


tokens: "Noun[pb.IngestTokenInfo]" = Noun(
    "tokens",
    {
        "id": "id",
        "name": "name",
        "token": lambda token: f"...{token.token_hint}",
        "created": "created_at",
        "revoked": "revoked_at",
        "pepper": lambda token: "previous" if token.needs_previous_pepper else "",
    },
)
app = tokens.app


@tokens.command("create", "web-eu --dataset web")
def create(
    client: MetaClient,
    name: str,
    dataset: Annotated[str, Option()],
    output: SecretFile = None,
) -> Answer:
    """Create a token. Its secret is printed once and not stored.

    Options:
        name: Name of the token; never reused.
        dataset: Dataset that all its signals go to.
    """
    request = pb.CreateIngestTokenRequest(name=name, dataset_name=dataset)
    with secret_output(output) as secret:
        reply = client.ingest_token.CreateIngestToken(request)
        note = f"token {reply.token.id}; keep the line above, it is not stored"
        return secret.answer(reply, "plaintext_token", [note])


@tokens.lists
def list_(client: MetaClient) -> "Iterable[pb.IngestTokenInfo]":
    """List the tokens, revoked ones too."""
    return pages(client.ingest_token.ListIngestTokens, pb.ListIngestTokensRequest())


@tokens.command("show", "web-eu")
def show(client: MetaClient, token: TokenId) -> Answer:
    """Show one token and the dataset of each signal."""
    request = pb.GetIngestTokenRequest(token_id=ingest_token_id(client, token))
    info = client.ingest_token.GetIngestToken(request).token
    return Answer(info, facts(_facts(client, info)))


@tokens.command("route", "web-eu --logs web-logs")
def route(
    client: MetaClient,
    token: TokenId,
    logs: Signal = None,
    traces: Signal = None,
    metrics: Signal = None,
) -> Answer:
    """Route a token's signals to other datasets; the others keep theirs."""
    names = {"logs": logs, "traces": traces, "metrics": metrics}
    if all(name is None for name in names.values()):
        raise usage("nothing to change: give --logs, --traces or --metrics")
    token_id = ingest_token_id(client, token)
    request = pb.GetIngestTokenRequest(token_id=token_id)
    routing = client.ingest_token.GetIngestToken(request).token.routing
    for signal, name in names.items():
        if name is not None:
            setattr(routing, f"{signal}_dataset_id", dataset_id(client, name))
    update = pb.UpdateIngestTokenRoutingRequest(token_id=token_id, routing=routing)
    # Each repetition lets more streams follow; meta continues by itself if this one is stopped.
    while (reply := client.ingest_token.UpdateIngestTokenRouting(update)).is_continued:
        pass
    return Answer(reply)


@tokens.command("revoke", "web-eu")
def revoke(client: MetaClient, token: TokenId) -> Answer:
    """Revoke a token; collectors refuse it within 5 s. Records it has sent are kept."""
    request = pb.RevokeIngestTokenRequest(token_id=ingest_token_id(client, token))
    return Answer(client.ingest_token.RevokeIngestToken(request))


@tokens.deletes
def delete(client: MetaClient, token: TokenId) -> "Message":
    """Delete a revoked token once everything it sent is merged."""
    return client.ingest_token.DeleteIngestToken(
        pb.DeleteIngestTokenRequest(token_id=ingest_token_id(client, token))
    )
