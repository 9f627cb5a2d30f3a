"""docs/gcs-bucket-policy.json before fake-gcs-server, with an address for each process.

The server has no accounts, so a proxy for each process refuses what the policy does not allow.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.object_store.clouds import BUCKET
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

# Rights of each role of the policy, as docs/object-stores.md creates it.
PERMISSIONS = {role: f"storage.objects.{role.lower()}" for role in (GET, CREATE, DELETE, LIST)}
OBJECTS = f"projects/_/buckets/{BUCKET}/objects/"
_PREFIX = re.compile(r'resource\.name\.startsWith\("([^"]+)"\)')
_METHODS = {"GET": GET, "HEAD": GET, "DELETE": DELETE}


@lru_cache
def bucket_policy() -> Mapping[str, Any]:
    """The page's policy for the bucket of these tests."""
    text = (DOCS / "gcs-bucket-policy.json").read_text()
    policy: Mapping[str, Any] = json.loads(text.replace("/example-bucket/", f"/{BUCKET}/"))
    return policy


def is_allowed(process: str, role: str, resource: str) -> bool:
    """True if a binding lets a process's account do what the role may, to the resource."""
    account = f"segplane-{process.replace(' ', '-')}@example-project.iam.gserviceaccount.com"
    return any(
        binding["role"] == f"projects/example-project/roles/segplane{role}"
        and f"serviceAccount:{account}" in binding["members"]
        and _holds(binding, resource)
        for binding in bucket_policy()["bindings"]
    )


def _holds(binding: Mapping[str, Any], resource: str) -> bool:
    if "condition" not in binding:
        return True
    terms = binding["condition"]["expression"].split(" || ")
    prefixes = [_PREFIX.fullmatch(term) for term in terms]
    # An expression of another form would need another evaluation.
    assert all(prefixes), terms
    return any(resource.startswith(match[1]) for match in prefixes if match)


def needed(request: Request) -> tuple[str, str] | None:
    """Return the role and the resource that a request of the JSON API needs; else raises."""
    url = urlsplit(request.target)
    if request.method == "GET" and url.path == f"/storage/v1/b/{BUCKET}":
        # The library's thread that describes the bucket for traces; it goes on without.
        return None
    query = parse_qs(url.query)
    path = re.sub(r"^/(upload|download)/", "/", url.path)
    objects = f"/storage/v1/b/{BUCKET}/o"
    if path == objects and request.method == "GET":
        return LIST, f"projects/_/buckets/{BUCKET}"
    if path == objects and request.method == "POST":
        return CREATE, OBJECTS + _new_name(query, request)
    if path == objects and request.method == "PUT" and "upload_id" in query:
        return CREATE, OBJECTS + query["name"][0]  # The rest of an upload that was begun.
    if path.startswith(f"{objects}/") and request.method in _METHODS:
        return _METHODS[request.method], OBJECTS + unquote(path.removeprefix(f"{objects}/"))
    raise AssertionError(f"no process should need {request.method} {request.target}")


def _new_name(query: Mapping[str, list[str]], request: Request) -> str:
    # The policy's accounts cannot overwrite: that needs the right to delete too.
    assert query["ifGenerationMatch"] == ["0"], request.target
    if "name" in query:
        return query["name"][0]
    # The description of an object is the only JSON, or the first of the parts.
    start = request.body.index(b"{")
    described, _ = json.JSONDecoder().raw_decode(
        request.body[start : start + 65_536].decode("utf-8", "replace")
    )
    return str(described["name"])


@contextmanager
def policed_gcs(endpoint: str) -> Iterator[PolicedCloud]:
    """Run a proxy for each process before a server of Google's protocol."""
    policy = CloudPolicy(
        lambda url: f"gs://{BUCKET}/{PATH}?endpoint={url}", needed, is_allowed, OBJECTS
    )
    with ExitStack() as proxies:
        yield PolicedCloud(
            policy, {name: proxies.enter_context(running_proxy(endpoint)) for name in PROCESSES}
        )
