"""segplane access: credentials of services and people."""

import sys
from typing import Annotated

import typer

from meta.access import Role
from meta.client import paged_lists
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.output import NONE, AsJson, print_json, print_table
from segplane.terminal.times import parse_age

app = typer.Typer(
    no_args_is_help=True,
    help="Create, list and revoke access tokens, with which services and people call meta.",
)


@app.command()
def create(
    role: Annotated[Role, typer.Option(help="Rights of its holder: docs/access.md has the calls.")],
    subject: Annotated[str, typer.Option(help="Name of its holder, such as nursery-eu.")],
    expires: Annotated[
        str, typer.Option(metavar="DURATION", help="Lifetime, such as 90d or 12h; '' = no end.")
    ] = "90d",
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Its holder sees this dataset, and others given likewise, alone."),
    ] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Create a token. Its secret is printed once and not stored.

    Give it to a process and to this command as SEGPLANE_META_AUTH_TOKEN.
    """
    request = pb.CreateAccessTokenRequest(
        subject=subject, role=role.value, dataset_names=dataset or ()
    )
    if expires:
        try:
            request.expires_secs = int(parse_age(expires).total_seconds())
        except ValueError as error:
            raise usage(f"--expires: {error}") from None
    with connect(address) as client:
        reply = client.operations.CreateAccessToken(request)
    print(reply.plaintext_token)
    print(f"access token {reply.token.id}; keep the line above, it is not stored", file=sys.stderr)


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the tokens; ended ones are listed for 90 days."""
    tokens = list[pb.AccessToken]()
    with connect(address) as client:
        call = client.operations.ListAccessTokens
        for page in paged_lists.replies(call, pb.ListAccessTokensRequest()):
            tokens += page.tokens
    if as_json:
        print_json(tokens)
        return
    rows = [
        (
            token.id,
            token.subject,
            token.role,
            f"...{token.token_hint}",
            token.created_at,
            token.expires_at or NONE,
            token.revoked_at or NONE,
            len(token.dataset_ids) or "all",
            "previous" if token.needs_previous_pepper else "",
        )
        for token in tokens
    ]
    headers = ("id", "subject", "role", "token", "created", "expires", "revoked")
    print_table((*headers, "datasets", "pepper"), rows)


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="Token id, as `access list` shows it.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Revoke a token; every server refuses it within 3 s."""
    with connect(address) as client:
        client.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=token_id))
