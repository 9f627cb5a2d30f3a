"""Calls about access tokens, the audit log and the server's state."""

from meta.services.access.access_tokens import (
    create_access_token,
    list_access_tokens,
    revoke_access_token,
)
from meta.services.access.audit_log import list_audit_records, list_denied_calls
from meta.services.access.server_state import (
    get_server_state,
    hold_deletion,
    release_deletion_hold,
)
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "CreateAccessToken": create_access_token,
    "ListAccessTokens": list_access_tokens,
    "RevokeAccessToken": revoke_access_token,
    "ListAuditRecords": list_audit_records,
    "ListDeniedCalls": list_denied_calls,
    "GetServerState": get_server_state,
    "HoldDeletion": hold_deletion,
    "ReleaseDeletionHold": release_deletion_hold,
}
