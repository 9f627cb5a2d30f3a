"""Policies of S3 buckets: one of the bucket that names accounts, or one of each account.

Statements with the same actions and accounts are one, because VersityGW keeps a policy in an
attribute of a folder, which has 4 KiB.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from segplane.deploy.model import ACCOUNTS, BucketRights

VERSION = "2012-10-17"
_ACTIONS = {
    "get": ("s3:GetObject",),
    "put": ("s3:PutObject", "s3:AbortMultipartUpload"),
    "delete": ("s3:DeleteObject",),
}
# Of the bucket itself; a condition on a prefix would refuse HeadBucket.
_LIST, _UPLOADS = "s3:ListBucket", "s3:ListBucketMultipartUploads"
Statement = dict[str, object]
Principal = Callable[[str], str]


def aws_role(account_id: str) -> Principal:
    """Return the principals of AWS: a role for each account."""
    return lambda account: f"arn:aws:iam::{account_id}:role/segplane-{account}"


def ceph_user(account: str) -> str:
    """Return a principal of Ceph: a user without a tenant."""
    return f"arn:aws:iam:::user/segplane-{account}"


def access_key(account: str) -> str:
    """Return a principal of VersityGW: the key of an account."""
    return f"segplane-{account}"


def of_bucket(bucket: str, path: str, principal: Principal) -> dict[str, object]:
    """Return the policy of the bucket, for all accounts."""
    accounts = defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[str]](list)
    for account, rights in ACCOUNTS.items():
        for actions, resources in _grants(rights, bucket, path).items():
            accounts[actions, resources].append(account)
    statements: list[Statement] = [
        {
            "Effect": "Allow",
            "Principal": {"AWS": [principal(account) for account in principals]},
            "Action": list(actions),
            "Resource": list(resources),
        }
        for (actions, resources), principals in accounts.items()
    ]
    return {"Version": VERSION, "Statement": statements}


def of_account(account: str, bucket: str, path: str) -> dict[str, object]:
    """Return the policy of one account, for stores that give accounts policies, as MinIO does."""
    statements: list[Statement] = [
        {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
        for actions, resources in _grants(ACCOUNTS[account], bucket, path).items()
    ]
    return {"Version": VERSION, "Statement": statements}


def _grants(
    rights: BucketRights, bucket: str, path: str
) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return actions and the resources on which they are allowed."""
    actions = defaultdict[str, tuple[str, ...]](tuple)
    for root, allowed in _by_root(rights):
        actions[f"arn:aws:s3:::{bucket}/{path}{root}*"] += allowed
    if rights.lists_names:
        actions[f"arn:aws:s3:::{bucket}"] += (_LIST,)
    if rights.lists_uploads:
        actions[f"arn:aws:s3:::{bucket}"] += (_UPLOADS,)
    resources = defaultdict[tuple[str, ...], tuple[str, ...]](tuple)
    for resource, allowed in actions.items():
        resources[allowed] += (resource,)
    return resources


def _by_root(rights: BucketRights) -> Iterator[tuple[str, tuple[str, ...]]]:
    kinds: Iterable[tuple[str, tuple[str, ...]]] = (
        ("get", rights.get),
        ("put", rights.put),
        ("delete", rights.delete),
    )
    for kind, roots in kinds:
        for root in roots:
            yield root, _ACTIONS[kind]
    # Unfinished uploads of every process are aborted by whoever lists them.
    if rights.lists_uploads:
        yield "", ("s3:AbortMultipartUpload",)
