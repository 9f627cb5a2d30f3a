"""Access tokens of services and people."""

from datetime import UTC, datetime

from meta import access
from meta.access import DEFAULT, DEFAULT_TENANT
from meta.errors import InvalidArgument
from meta.roles import SCOPED_ROLES, TENANT_ROLES, Role
from meta.services.messages import authors, checks, pages
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import access_tokens, audit, token_secrets
from meta.store.access.access_tokens import AccessToken, NewAccessToken
from meta.store.access.token_secrets import HashFunction
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb

# Valid ones of one tenant, and of all.
ACCESS_TOKENS_MAX, ALL_ACCESS_TOKENS_MAX = 1_000, 100_000
DATASETS_MAX = 100
EXPIRES_SECS_MAX = 10 * 366 * 86_400
_NEW_ROLES = (Role.OPERATOR_READ, Role.TENANT_ADMIN, Role.TENANT_READER, Role.TENANT_INGEST)


def create_access_token(
    server: ServerParts, request: pb.CreateAccessTokenRequest
) -> pb.CreateAccessTokenResponse:
    """Create a token; its plaintext is in this reply only."""
    subject = _subject(request.subject)
    role = _role(request.role)
    expires_secs = checks.optional_count(request, "expires_secs", low=1, high=EXPIRES_SECS_MAX)
    names = _dataset_names(request, role)
    plaintext = token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)

    def work(tx: Transaction) -> AccessToken:
        if role in _NEW_ROLES:
            # A meta of 0.3.0 cannot read the token's row.
            upgrades.require_finished(tx, f"a token of the role {role.value}")
        hashing = server.hasher.hash_function(tx)
        new = NewAccessToken(
            subject,
            role.value,
            hashing(plaintext).current,
            token_secrets.hint(plaintext),
            expires_secs,
            hashing.fingerprint,
            tuple(datasets.get(tx, name).id for name in names) or None,
        )
        token = access_tokens.create(
            tx,
            new,
            tokens_max=ACCESS_TOKENS_MAX,
            kept_secs=server.settings.lifetimes.audit,
        )
        limit = f", datasets {', '.join(map(repr, names))}" if names else ""
        detail = f"subject {request.subject!r}, {role.value}{limit}"
        audit.note(tx, "CreateAccessToken", token.id, detail)
        return token

    with access.as_server():
        # A caller of a tenant counts its own alone. Calls at one time may go beyond it by as many.
        server.transactions.read(lambda tx: access_tokens.check_total(tx, ALL_ACCESS_TOKENS_MAX))
    token = server.transactions.write(work)
    return pb.CreateAccessTokenResponse(plaintext_token=plaintext, token=_message(token))


def list_access_tokens(
    server: ServerParts, request: pb.ListAccessTokensRequest
) -> pb.ListAccessTokensResponse:
    """Page through the tokens, ended ones too."""
    window = pages.window(request.pagination, "ListAccessTokens")
    hashing, (page, by) = server.transactions.read(
        lambda tx: (
            server.hasher.hash_function(tx),
            authors.of_page(tx, access_tokens.list_page(tx, window)),
        )
    )
    return pb.ListAccessTokensResponse(
        tokens=[_message(token, hashing, by.get(token.id)) for token in page.items],
        pagination=pages.answer(page, "ListAccessTokens"),
    )


def revoke_access_token(
    server: ServerParts, request: pb.RevokeAccessTokenRequest
) -> pb.RevokeAccessTokenResponse:
    """End a token; servers refuse it within 3 s."""
    token_id = checks.uuid(request.token_id, "token_id")

    def work(tx: Transaction) -> AccessToken:
        token = access_tokens.revoke(tx, token_id)
        subject = access.shown_subject(token.subject)
        audit.note(tx, "RevokeAccessToken", token.id, f"subject {subject!r}")
        return token

    token = server.transactions.write(work)
    server.transactions.database.continuity.note_revoked("access", str(token_id))
    return pb.RevokeAccessTokenResponse(token=_message(token))


def _subject(name: str) -> str:
    """The subject of a new token: one of its tenant, unless an operator makes it in `default`."""
    checks.new_name(name, "subject")
    if name.startswith("//"):
        raise InvalidArgument("subject begins with //, as those of tenants", field="subject")
    caller = access.current.get()
    tenant = caller.tenant or DEFAULT
    if caller.is_operator and tenant.key == DEFAULT_TENANT:
        return name
    return tenant.subject(name)


def _role(name: str) -> Role:
    caller = access.current.get()
    is_in_tenant = not caller.is_operator or caller.scope.naming_key != DEFAULT_TENANT
    roles = TENANT_ROLES if is_in_tenant else tuple(Role)
    try:
        # Bounded: the refusal below quotes it, and a status of gRPC is small.
        role = Role(checks.name(name, "role"))
    except ValueError:
        role = None
    if role not in roles:
        names = ", ".join(role.value for role in roles)
        raise InvalidArgument(f"role is {name!r}, not one of {names}", field="role")
    return role


def _dataset_names(request: pb.CreateAccessTokenRequest, role: Role) -> list[str]:
    """Names of the datasets that the token is limited to, none = all."""
    checks.at_most(request.dataset_names, "dataset_names", DATASETS_MAX)
    names = [checks.name(name, "dataset_names") for name in request.dataset_names]
    checks.distinct(names, "dataset_names")
    if names and role not in SCOPED_ROLES:
        allowed = " and ".join(role.value for role in SCOPED_ROLES)
        raise InvalidArgument(
            f"a token of the role {role.value} cannot be limited to datasets, only {allowed}",
            field="dataset_names",
        )
    return names


def _message(
    token: AccessToken,
    hashing: HashFunction | None = None,
    by: common_pb2.Authors | None = None,
) -> pb.AccessToken:
    is_old = hashing is not None and hashing.needs_previous(token.fingerprint)
    return filled(
        pb.AccessToken,
        token,
        subject=access.shown_subject(token.subject),
        tenant=token.tenant if Role(token.role) in TENANT_ROLES else "",
        token_hint=token.hint,
        created_at=_text(token.created_at),
        expires_at=_text(token.expires_at),
        revoked_at=_text(token.revoked_at),
        dataset_ids=map(str, token.dataset_ids or ()),
        needs_previous_pepper=is_old and token.revoked_at is None,
        authors=by,
    )


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat()
