"""IngestTokenService: ingest tokens and the datasets that their signals are routed to."""

import time
from typing import TypeAlias

import structlog

from meta.commits import installation_totals
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError, NotDrained, NotFound, TokenRevoked, TokenUnknown
from meta.services.messages import authors, checks, convert, pages, reply_bounds
from meta.services.messages.filled import filled
from meta.store.access import audit, token_secrets
from meta.store.access.token_secrets import HashFunction, TokenHasher
from meta.store.catalog import datasets, one_tenant
from meta.store.engine.pool import Transaction
from meta.store.streams import routing, tokens
from meta.store.streams.tokens import IngestToken, TokenRouting
from meta.store.versions import versions
from meta.v1 import common_pb2
from meta.v1 import ingest_token_pb2 as pb

# Stored digest, current digest and fingerprint of a token to move; None = it may stay.
_Rehash: TypeAlias = tuple[bytes, bytes, str] | None
# A call applies a token's routing to its streams for this long; the server does the rest.
ROUTING_SECS = 1.0
# The subject of a reply of ListIngestTokens that is too large, and the way to list it.
_TOKENS_INSTEAD = ("ingest tokens", "call ListIngestTokens with pagination")
log = structlog.get_logger()


class IngestTokenServicer:
    """IngestTokenService; see docs/contract.md."""

    def __init__(
        self, transactions: Transactions, settings: Settings, routing_secs: float = ROUTING_SECS
    ) -> None:
        self._transactions = transactions
        self._settings = settings
        self._hasher = TokenHasher(settings.peppers)
        self._routing_secs = routing_secs

    def CreateIngestToken(
        self, request: pb.CreateIngestTokenRequest
    ) -> pb.CreateIngestTokenResponse:
        """Create a token; its plaintext is in this reply only."""
        name = checks.name(request.name)
        dataset_name = checks.name(request.dataset_name, "dataset_name")
        plaintext = token_secrets.new_plaintext()

        def work(tx: Transaction) -> IngestToken:
            dataset = datasets.find_by_name(tx, dataset_name)
            if dataset is None:
                raise NotFound("there is no such dataset", dataset_name=dataset_name)
            datasets.lock_shared(tx, [dataset.id])
            token = tokens.create(
                tx,
                name,
                self._hasher.digest(tx, plaintext),
                token_secrets.hint(plaintext),
                dataset.id,
                tokens_max=self._settings.tokens_max,
                fingerprint=self._hasher.hash_function(tx).fingerprint,
            )
            audit.note(tx, "CreateIngestToken", token.id, f"name {name!r}")
            return token

        installation_totals.check(
            self._transactions, "ingest tokens", tokens.count, self._settings.tokens_max
        )
        token = self._transactions.write(work)
        return pb.CreateIngestTokenResponse(plaintext_token=plaintext, token=_info(token))

    def ValidateIngestToken(
        self, request: pb.ValidateIngestTokenRequest
    ) -> pb.ValidateIngestTokenResponse:
        """The id and routing of the token with this plaintext."""
        if not token_secrets.is_well_formed(request.plaintext_token):
            raise TokenUnknown(token_secrets.UNKNOWN_MESSAGE)

        def work(tx: Transaction) -> tuple[IngestToken, _Rehash] | None:
            hashing = self._hasher.hash_function(tx)
            digests = hashing(request.plaintext_token)
            shown = tokens.find_by_digests(tx, digests.all())
            if shown is None or not shown.is_accepted:
                return None
            token, stored, _ = shown
            if not hashing.needs_rehash(digests, stored, token.fingerprint):
                return token, None
            return token, (stored, digests.current, hashing.fingerprint)

        answer = self._transactions.read(work)
        if answer is None:
            raise TokenUnknown(token_secrets.UNKNOWN_MESSAGE)
        token, rehash = answer
        if rehash is not None:
            self._move(token, *rehash)
        return pb.ValidateIngestTokenResponse(
            token_id=str(token.id), routing=convert.routing_message(token.routing)
        )

    def RevokeIngestToken(
        self, request: pb.RevokeIngestTokenRequest
    ) -> pb.RevokeIngestTokenResponse:
        """Revoke a token permanently; repeating the call keeps the first time of revocation."""
        token_id = checks.uuid(request.token_id, "token_id")

        def work(tx: Transaction) -> None:
            token = tokens.get(tx, token_id, "FOR UPDATE")
            if token.revoked_at is not None:
                return
            tokens.revoke(tx, token_id)
            routing.note_revoked(tx, token_id)
            tokens.stamp(tx, token_id, versions.allocate(tx))
            audit.note(tx, "RevokeIngestToken", token_id, f"name {token.name!r}")

        self._transactions.write(work)
        self._transactions.database.continuity.note_revoked("ingest", str(token_id))
        return pb.RevokeIngestTokenResponse()

    def DeleteIngestToken(
        self, request: pb.DeleteIngestTokenRequest
    ) -> pb.DeleteIngestTokenResponse:
        """Remove a revoked token whose streams have merged past the revocation."""
        token_id = checks.uuid(request.token_id, "token_id")

        def work(tx: Transaction) -> None:
            token = tokens.find(tx, token_id, "FOR UPDATE")
            if token is None:
                return
            if token.revoked_at is None:
                raise NotDrained("the token is not revoked; revoke it first", token_id=token_id)
            stream_id = routing.find_undrained(tx, token_id)
            if stream_id is not None:
                raise NotDrained(
                    "a stream has not merged past the revocation",
                    token_id=token_id,
                    stream_id=stream_id,
                )
            tokens.delete_one(tx, token_id)
            audit.note(tx, "DeleteIngestToken", token_id, f"name {token.name!r}")

        self._transactions.write(work)
        return pb.DeleteIngestTokenResponse()

    def ListIngestTokens(self, request: pb.ListIngestTokensRequest) -> pb.ListIngestTokensResponse:
        """List all tokens, oldest first."""
        if request.HasField("pagination"):
            window = pages.window(request.pagination, "ListIngestTokens")
            hashing, (page, by) = self._transactions.read(
                lambda tx: (
                    self._hasher.hash_function(tx),
                    authors.of_page(tx, tokens.list_page(tx, window)),
                )
            )
            return pb.ListIngestTokensResponse(
                tokens=[_info(token, hashing, by.get(token.id)) for token in page.items],
                pagination=pages.answer(page, "ListIngestTokens"),
            )
        return self._transactions.read(self._all_tokens)

    def _all_tokens(self, tx: Transaction) -> pb.ListIngestTokensResponse:
        reply_bounds.check_number(tokens.count(tx), *_TOKENS_INSTEAD)
        hashing, all_tokens = self._hasher.hash_function(tx), tokens.list_all(tx)
        reply = pb.ListIngestTokensResponse(tokens=[_info(token, hashing) for token in all_tokens])
        reply_bounds.check_size(reply, len(all_tokens), *_TOKENS_INSTEAD)
        return reply

    def GetIngestToken(self, request: pb.GetIngestTokenRequest) -> pb.GetIngestTokenResponse:
        """Read one token."""
        token_id = checks.uuid(request.token_id, "token_id")
        hashing, (token, by) = self._transactions.read(
            lambda tx: (
                self._hasher.hash_function(tx),
                authors.of(tx, tokens.get(tx, token_id)),
            )
        )
        return pb.GetIngestTokenResponse(token=_info(token, hashing, by))

    def UpdateIngestTokenRouting(
        self, request: pb.UpdateIngestTokenRoutingRequest
    ) -> pb.UpdateIngestTokenRoutingResponse:
        """Replace the routing of a token and create the stream entries that it needs, or most."""
        token_id = checks.uuid(request.token_id, "token_id")
        new_routing = TokenRouting(
            *(
                checks.optional_uuid(getattr(request.routing, name), f"routing.{name}")
                for name in ("logs_dataset_id", "traces_dataset_id", "metrics_dataset_id")
            )
        )

        def work(tx: Transaction) -> None:
            datasets.lock_shared(tx, new_routing.datasets())
            token = tokens.get(tx, token_id, "FOR UPDATE")
            if token.revoked_at is not None:
                raise TokenRevoked("a revoked token takes no new routing", token_id=token_id)
            one_tenant.require(tx, (token_id, *new_routing.datasets()))
            if token.routing != new_routing:
                tokens.route(tx, token_id, new_routing)
                routing.begin_change(tx, token_id)
                tokens.stamp(tx, token_id, versions.allocate(tx))
                change = audit.states(token.routing, new_routing)
                audit.note(tx, "UpdateIngestTokenRouting", token_id, change)

        until = time.monotonic() + self._routing_secs
        self._transactions.write(work)
        while self._transactions.write(lambda tx: routing.carry_on(tx, token_id)):
            if time.monotonic() > until:
                self._transactions.write(lambda tx: routing.leave(tx, token_id))
                return pb.UpdateIngestTokenRoutingResponse(is_continued=True)
        return pb.UpdateIngestTokenRoutingResponse()

    def _move(self, token: IngestToken, stored: bytes, digest: bytes, fingerprint: str) -> None:
        """Store a token under the current pepper; the call that shows it does not depend on it."""
        try:
            self._transactions.write(lambda tx: tokens.rehash(tx, stored, digest, fingerprint))
        except MetaError as error:
            log.warning("token_not_rehashed", token_id=str(token.id), reason=error.reason)


def _info(
    token: IngestToken,
    hashing: HashFunction | None = None,
    by: common_pb2.Authors | None = None,
) -> pb.IngestTokenInfo:
    is_old = hashing is not None and hashing.needs_previous(token.fingerprint)
    return filled(
        pb.IngestTokenInfo,
        token,
        routing=convert.routing_message(token.routing),
        token_hint=token.hint,
        needs_previous_pepper=is_old and token.revoked_at is None,
        authors=by,
    )
