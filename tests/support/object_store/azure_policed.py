"""docs/azure-role-assignments.json before Azurite, with an address for each process.

The server has no identities, so a proxy for each process refuses what its roles do not allow.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.object_store.clouds import ACCOUNT, BUCKET
from tests.support.object_store.faulty_proxy import Request, running_proxy
from tests.support.object_store.policed import DOCS, PATH, PROCESSES
from tests.support.object_store.policed_cloud import (
    CREATE,
    DELETE,
    GET,
    LIST,
    CloudPolicy,
    PolicedCloud,
)

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
# Of a listing there is no path that a condition names.
CONTAINER = ""
# Actions that each role of the page must hold, and the operations that it is for.
ACTIONS = {
    GET: {f"{BLOBS}/read"},
    LIST: {f"{BLOBS}/read"},
    CREATE: {f"{BLOBS}/write", f"{BLOBS}/add/action"},
    DELETE: {f"{BLOBS}/delete"},
}
_LIST_OPERATION = f"ActionMatches{{'{BLOBS}/read'}} AND SubOperationMatches{{'Blob.List'}}"
_OTHER_READS = _LIST_OPERATION.replace("AND Sub", "AND NOT Sub")
_PATH = re.compile(rf"@Resource\[{re.escape(BLOBS)}:path\] StringStartsWith '([^']+)'")
_METHODS = {"GET": GET, "HEAD": GET, "DELETE": DELETE}
_UPLOADS = ("", "block", "blocklist")


@lru_cache
def policy() -> Mapping[str, Any]:
    """The page's roles and assignments."""
    read: Mapping[str, Any] = json.loads((DOCS / "azure-role-assignments.json").read_text())
    return read


def is_allowed(process: str, operation: str, path: str) -> bool:
    """True if an assignment of a process allows an operation on a blob, or on the container."""
    actions = {role["Name"]: set(role["DataActions"]) for role in policy()["roles"]}
    return any(
        assignment["assignee"] == f"segplane-{process.replace(' ', '-')}"
        and ACTIONS[operation] <= actions[assignment["role"]]
        and _holds(assignment["condition"], operation, path)
        for assignment in policy()["assignments"]
    )


def _holds(condition: str, operation: str, path: str) -> bool:
    """Evaluate a condition: terms in parentheses that all must hold."""
    terms = re.fullmatch(r"\((.*)\)", condition)
    assert terms, condition
    return all(_term_holds(term, operation, path) for term in terms[1].split(") AND ("))


def _term_holds(term: str, operation: str, path: str) -> bool:
    if term == f"!({_LIST_OPERATION})":
        return operation != LIST
    if term == f"!({_OTHER_READS})":
        return operation != GET
    prefixes = [_PATH.fullmatch(part) for part in term.split(" OR ")]
    # A term of another form would need another evaluation.
    assert all(prefixes), term
    return any(path.startswith(match[1]) for match in prefixes if match)


def needed(request: Request) -> tuple[str, str]:
    """Return the operation and the path that a request needs; else raises."""
    url = urlsplit(request.target)
    comp = parse_qs(url.query).get("comp", [""])[0]
    container = f"/{ACCOUNT}/{BUCKET}"
    if url.path == container and request.method == "GET" and comp == "list":
        return LIST, CONTAINER
    if url.path.startswith(f"{container}/"):
        path = unquote(url.path.removeprefix(f"{container}/"))
        if request.method == "PUT" and comp in _UPLOADS:
            # Azure's rights do not keep a writer from overwriting: its requests' condition does.
            assert comp == "block" or request.headers["If-None-Match"] == "*", request.target
            return CREATE, path
        if request.method in _METHODS and not comp:
            return _METHODS[request.method], path
    raise AssertionError(f"no process should need {request.method} {request.target}")


@contextmanager
def policed_azure(endpoint: str) -> Iterator[PolicedCloud]:
    """Run a proxy for each process before Azurite; `endpoint` is its account's URL."""
    policy_of_azure = CloudPolicy(
        lambda url: f"az://{BUCKET}/{PATH}?endpoint={url}/{ACCOUNT}", needed, is_allowed, ""
    )
    with ExitStack() as proxies:
        yield PolicedCloud(
            policy_of_azure,
            {
                name: proxies.enter_context(running_proxy(endpoint.removesuffix(f"/{ACCOUNT}")))
                for name in PROCESSES
            },
        )
