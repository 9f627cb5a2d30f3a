"""Causes of a store's refusals that time mends, whatever status they come with.

A store that is full, or that finds a request's signature too old or too new, often answers 403, as
it does to wrong keys.
"""

import re
import time
from email.utils import parsedate_to_datetime

# Stores take signatures of up to 15 minutes ago or ahead; an answer's date has whole seconds.
CLOCK_SECS_MAX = 14 * 60
MESSAGE_CHARACTERS_MAX = 200
_CLOCK = re.compile(
    r"TimeTooSkewed|RequestExpired|time too skewed|clock skew|iat and exp|token used too early",
    re.IGNORECASE,
)
# QuotaExceeded of Ceph, XMinioAdminBucketQuotaExceeded, "storage cap exceeded" of Backblaze,
# rateLimitExceeded of Google.
_LIMIT = re.compile(
    r"quota ?exceeded|exceed(s|ed|ing)? (\w+ ){0,4}quota|quota (\w+ ){0,3}exceeded"
    r"|cap exceeded|rate ?limit ?exceeded|limit ?exceeded|storage ?full|insufficient ?capacity",
    re.IGNORECASE,
)


def passing_cause(code: str, message: str, date: str = "") -> str:
    """Return why a refusal passes with time, as the end of a sentence; "" if it does not.

    `date` is the answer's Date header; "" = unknown. Call it for refusals of access alone, because
    it takes a clock that is far off for the cause.
    """
    skew_secs = clock_skew_secs(date)
    if _CLOCK.search(code) or _CLOCK.search(message) or abs(skew_secs) > CLOCK_SECS_MAX:
        difference = ""
        if skew_secs:
            way = "ahead of" if skew_secs > 0 else "behind"
            difference = f" ({abs(skew_secs):.0f} s {way} the store's)"
        return f"this machine's clock{difference} is too far from the store's: correct the clock"
    if _LIMIT.search(code) or _LIMIT.search(message):
        return "a quota or limit of the store is reached: raise it, or make room"
    return ""


def clock_skew_secs(date: str) -> float:
    """Return by how much this machine's clock is ahead of an answer's date; 0 if it has none."""
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0


def brief(message: str) -> str:
    """A store's message in one line of bounded length."""
    return " ".join(message.split())[:MESSAGE_CHARACTERS_MAX]
