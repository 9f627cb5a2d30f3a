"""Metric of restricted calls, by caller and reason; its labels are bounded.

`stranger` has no valid credential, `subject` has one of its own, `everybody` may be anybody:
callers with META_AUTH_TOKEN, those of a server that asks for no credential, and all together.
"""

from meta import metrics
from meta.access import Principal

STRANGER, SUBJECT, EVERYBODY = "stranger", "subject", "everybody"


def who(principal: Principal) -> str:
    """The label of an authenticated caller."""
    return EVERYBODY if principal.is_shared else SUBJECT


def count_restricted(label: str, why: str) -> None:
    """Count a call that was refused, ended or delayed by a bound."""
    metrics.RESTRICTED_CALLS.labels(label, why).inc()


def count_health_call() -> None:
    """Count a health check or watch that gave way to newer ones."""
    count_restricted(STRANGER, "health")
