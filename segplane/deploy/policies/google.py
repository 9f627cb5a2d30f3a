"""Policy of a bucket at Google Cloud Storage, with one role for each permission."""

from collections.abc import Iterator

from segplane.deploy.model import ACCOUNTS, BucketRights

Binding = dict[str, object]


def of_bucket(bucket: str, path: str, project: str) -> dict[str, object]:
    """Return the bindings of all accounts; `path` ends with a slash if it is not empty."""

    def role(permission: str) -> str:
        return f"projects/{project}/roles/segplane{permission}"

    def member(account: str) -> str:
        return f"serviceAccount:segplane-{account}@{project}.iam.gserviceaccount.com"

    objects = f"projects/_/buckets/{bucket}/objects/{path}"
    listing = [member(name) for name, rights in ACCOUNTS.items() if rights.lists_names]
    bindings: list[Binding] = [{"role": role("List"), "members": listing}]
    for account, rights in ACCOUNTS.items():
        for permission, roots in permissions(rights):
            tests = (f'resource.name.startsWith("{objects}{root}")' for root in roots)
            bindings.append(
                {
                    "role": role(permission),
                    "members": [member(account)],
                    "condition": {
                        "title": f"{account} {permission.lower()}",
                        "expression": " || ".join(tests),
                    },
                }
            )
    return {"version": 3, "bindings": bindings}


def permissions(rights: BucketRights) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the permissions of objects that an account has, with their prefixes."""
    granted = (("Get", rights.get), ("Create", rights.put), ("Delete", rights.delete))
    yield from ((name, roots) for name, roots in granted if roots)
