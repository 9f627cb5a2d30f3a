"""Access tokens by subject, denied calls, and the audit log with differences."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb

ACCESS_PATH = "/ui/access"
RECORDS_ROWS, DENIED_ROWS = 50, 20
# Tokens that are read, the oldest ones, and of these those that are shown: valid ones first.
TOKENS_MAX, SHOWN_TOKENS_MAX = 1_000, 200


@dataclass(frozen=True, slots=True)
class AuditAsk:
    """Filters of the audit log as an address has them, and the record after which a page begins."""

    principal: str = ""
    call: str = ""
    entry: str = ""
    before: int = 0

    def address(self, before: int = 0) -> str:
        """Return the address of a page of the same records."""
        values = {"principal": self.principal, "call": self.call, "entry": self.entry}
        pairs = {name: value for name, value in values.items() if value}
        pairs |= {"before": str(before)} if before else {}
        return f"{ACCESS_PATH}?{urlencode(pairs)}" if pairs else ACCESS_PATH


@dataclass(frozen=True, slots=True)
class AccessTokenRow:
    """An access token without its secret, and its state in a word."""

    token: pb.AccessToken
    state: str


@dataclass(frozen=True, slots=True)
class ShownSubject:
    """A subject, the roles of its tokens that are valid, and all of its tokens."""

    name: str
    roles: Sequence[str]
    tokens: Sequence[AccessTokenRow]


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field that a change gave another value; "" = it had or has none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A record of the audit log: the fields that differ, or the new state as it was written."""

    record: pb.AuditRecord
    fields: Sequence[ChangedField] = ()
    text: str = ""
    is_shortened: bool = False

    @property
    def entry_address(self) -> str:
        """Return the address of all changes of its entry."""
        return AuditAsk(entry=self.record.subject_id).address()

    @property
    def principal_address(self) -> str:
        """Return the address of all changes by its caller."""
        return AuditAsk(principal=self.record.principal).address()


@dataclass(frozen=True, slots=True)
class AccessPage:
    """All that the page shows; subjects and denied calls are on its first page alone."""

    ask: AuditAsk
    changes: Sequence[ShownChange]
    older_address: str
    subjects: Sequence[ShownSubject] = ()
    more_tokens: int = 0
    denied: Sequence[pb.DeniedCalls] = ()

    @property
    def is_first(self) -> bool:
        """Whether nothing was asked for."""
        return self.ask == AuditAsk()


def read_access(client: MetaClient, ask: AuditAsk, now: str) -> AccessPage:
    """Read a page of the audit log, and without filters the tokens. `now` is RFC 3339 in UTC.

    Raises MetaError.
    """
    records = client.operations.ListAuditRecords(
        pb.ListAuditRecordsRequest(
            before_id=ask.before,
            rpc=ask.call,
            subject_id=ask.entry,
            principal=ask.principal,
            limit=RECORDS_ROWS,
        )
    ).records
    older = ask.address(records[-1].id) if len(records) == RECORDS_ROWS else ""
    changes = [shown_change(record) for record in records]
    if ask != AuditAsk():
        return AccessPage(ask, changes, older)
    pagination = catalog_pb2.PaginationRequest(limit=TOKENS_MAX)
    listed = client.operations.ListAccessTokens(pb.ListAccessTokensRequest(pagination=pagination))
    denied = client.operations.ListDeniedCalls(pb.ListDeniedCallsRequest(limit=DENIED_ROWS)).rows
    tokens = [AccessTokenRow(token, _state(token, now)) for token in reversed(listed.tokens)]
    tokens.sort(key=lambda each: each.state != "valid")
    shown = tokens[:SHOWN_TOKENS_MAX]
    more = max(0, listed.pagination.total - len(shown))
    return AccessPage(ask, changes, older, _subjects(shown), more, denied)


def shown_change(record: pb.AuditRecord) -> ShownChange:
    """Return a record with the fields that its change gave other values."""
    try:
        detail = json.loads(record.detail)
    except (ValueError, RecursionError):
        return ShownChange(record, text=record.detail)
    if not isinstance(detail, dict) or not {"before", "after"} <= detail.keys():
        return ShownChange(record, text=record.detail)
    before, after = _values(detail["before"]), _values(detail["after"])
    fields = [
        ChangedField(name, _text(before.get(name)), _text(after.get(name)))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    return ShownChange(record, fields, is_shortened=bool(detail.get("shortened")))


def _values(state: object) -> Mapping[str, object]:
    if state is None:
        return {}
    if not isinstance(state, dict):
        return {"": state}
    return {str(key): value for key, value in state.items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _subjects(tokens: Sequence[AccessTokenRow]) -> list[ShownSubject]:
    """Group tokens by their subject; each group keeps their order."""
    by_subject: dict[str, list[AccessTokenRow]] = {}
    for each in tokens:
        by_subject.setdefault(each.token.subject, []).append(each)
    return [
        ShownSubject(name, sorted({e.token.role for e in group if e.state == "valid"}), group)
        for name, group in sorted(by_subject.items())
    ]


def _state(token: pb.AccessToken, now: str) -> str:
    if token.revoked_at:
        return "revoked"
    # Both are RFC 3339 in UTC, to the second.
    return "expired" if token.expires_at and token.expires_at[:19] <= now[:19] else "valid"
