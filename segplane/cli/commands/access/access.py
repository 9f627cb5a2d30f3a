"""segplane access: credentials of services and people."""

from collections.abc import Iterable
from typing import Annotated

from meta.roles import Role
from segplane.cli.commands.access.quotas import quotas
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.nouns import Noun, pages
from segplane.cli.output import Answer
from segplane.cli.parameters import Option
from segplane.cli.secret_files import SecretFile, secret_output

access: "Noun[pb.AccessToken]" = Noun(
    "access",
    {
        "id": "id",
        "subject": "subject",
        "role": "role",
        "tenant": "tenant",
        "token": lambda token: f"...{token.token_hint}",
        "created": "created_at",
        "expires": "expires_at",
        "revoked": "revoked_at",
        "datasets": lambda token: len(token.dataset_ids) or "all",
        "pepper": lambda token: "previous" if token.needs_previous_pepper else "",
    },
)
app = access.app


@access.command("create", "--role nursery --subject nursery-eu")
def create(
    client: MetaClient,
    role: Annotated[Role, Option()],
    subject: Annotated[str, Option()],
    expires: Annotated[str, Option(metavar="DURATION")] = "90d",
    dataset: list[str] | None = None,
    output: SecretFile = None,
) -> Answer:
    """Create a token. Its secret is printed once and not stored.

    Give it to a process and to this command as SEGPLANE_META_AUTH_TOKEN.

    Options:
        role: Rights of its holder: docs/access.md has the calls.
        subject: Name of its holder, such as nursery-eu.
        expires: Lifetime, such as 90d or 12h; '' = no end.
        dataset: Its holder sees only this dataset, and others given likewise.
    """
    from segplane.terminal.times import parse_age

    request = pb.CreateAccessTokenRequest(
        subject=subject, role=role.value, dataset_names=dataset or ()
    )
    if expires:
        try:
            request.expires_secs = int(parse_age(expires).total_seconds())
        except ValueError as error:
            raise usage(f"--expires: {error}") from None
    with secret_output(output) as secret:
        reply = client.operations.CreateAccessToken(request)
        note = f"access token {reply.token.id}; keep the line above, it is not stored"
        return secret.answer(reply, "plaintext_token", [note])


@access.lists
def list_(client: MetaClient) -> "Iterable[pb.AccessToken]":
    """List the tokens; ended ones are listed for 90 days."""
    return pages(client.operations.ListAccessTokens, pb.ListAccessTokensRequest())


@access.command("revoke", "{}")
def revoke(client: MetaClient, token_id: str) -> Answer:
    """Revoke a token; every server refuses it within 3 s.

    Options:
        token_id: Token id, as `access list` shows it.
    """
    request = pb.RevokeAccessTokenRequest(token_id=token_id)
    return Answer(client.operations.RevokeAccessToken(request))


access.command("quotas", "ann --datasets 20 --records-per-month 1000000000")(quotas)
