"""Check of the access tokens: those that are to be replaced before they end."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from meta.client import MetaClient
from meta.client.paged_lists import replies
from meta.errors import MetaError, RoleRefused
from meta.self_report import RENEWAL_NANOS
from meta.v1 import operations_pb2 as pb
from segplane.health.doctor.verdicts import CheckResult, judged, unknown
from segplane.health.processes import span

AREA, NAME = "meta", "access tokens"
# Tokens that a text names, those that end first.
NAMED_MAX = 3
_RENEWAL = timedelta(microseconds=RENEWAL_NANOS // 1000)


def examine(client: MetaClient, now_nanos: int) -> Iterator[CheckResult]:
    """Check the tokens that are valid at a time of the database's clock."""
    now = datetime.fromtimestamp(now_nanos / 1e9, UTC)
    try:
        listed = replies(client.operations.ListAccessTokens, pb.ListAccessTokensRequest())
        tokens = [token for reply in listed for token in reply.tokens]
    except RoleRefused as error:
        step = "use a credential of the role admin: others may not list access tokens"
        yield unknown(AREA, NAME, error.message, step)
        return
    except MetaError as error:
        yield unknown(AREA, NAME, f"meta does not list them: {error.message}")
        return
    ends = sorted(end for token in tokens if (end := _due(token, now)))
    shown = [f"that of {subject} ends in {span(_nanos(end - now))}" for end, subject in ends]
    text = "; ".join(shown[:NAMED_MAX])
    if others := len(shown) - NAMED_MAX:
        text += f"; and {others} others are to be replaced" if others > 0 else ""
    step = "`segplane access create` another for its holder, then revoke the old one"
    fine = "no access token ends soon"
    yield judged(AREA, NAME, fine, text, is_warning=True, next_step=step)


def _due(token: pb.AccessToken, now: datetime) -> tuple[datetime, str] | None:
    """Return the end and the subject of a token that is to be replaced; None of others."""
    if not token.expires_at or token.revoked_at:
        return None
    end, begin = (datetime.fromisoformat(text) for text in (token.expires_at, token.created_at))
    is_due = now < end <= now + min(_RENEWAL, (end - begin) / 2)
    return (end, token.subject) if is_due else None


def _nanos(length: timedelta) -> int:
    return int(length.total_seconds() * 1e9)
