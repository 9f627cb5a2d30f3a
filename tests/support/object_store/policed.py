"""A bucket of VersityGW under docs/bucket-policy.json, with an account for each process."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

DOCS = Path(__file__).parents[3] / "docs"
BUCKET, PATH = "segments-of-policies", "some/path"
PROCESSES = ("meta", "collector", "nursery", "merge worker", "janitor", "gateway", "reader")


def bucket_policy() -> str:
    """The page's policy for the accounts and the bucket of this module."""
    # Without spaces: the server keeps it in an attribute of a folder, which has 4 KiB.
    text = json.dumps(json.loads((DOCS / "bucket-policy.json").read_text()), separators=(",", ":"))
    return text.replace("arn:aws:iam::123456789012:role/", "").replace("example-bucket", BUCKET)


@dataclass(frozen=True)
class PolicedBucket:
    """A bucket with the policy, and its accounts."""

    url: str

    def credentials(self, process: str) -> dict[str, str]:
        """The environment by which a process is its account."""
        return {
            "AWS_ACCESS_KEY_ID": f"segplane-{process.replace(' ', '-')}",
            "AWS_SECRET_ACCESS_KEY": f"secret of {process}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, process: str) -> "S3Client":
        """A client of a process's account."""
        variables = self.credentials(process)
        return self._client(variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"])

    @property
    def owner(self) -> "S3Client":
        """A client of the account that owns the bucket."""
        return self._client(ACCESS_KEY, SECRET_KEY)

    def _client(self, user: str, secret: str) -> "S3Client":
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=user,
            aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        )


@contextmanager
def policed_bucket(folder: Path) -> Iterator[PolicedBucket]:
    """Run the server; skips without its program."""
    accounts = map(PolicedBucket("").credentials, PROCESSES)
    users = {one["AWS_ACCESS_KEY_ID"]: one["AWS_SECRET_ACCESS_KEY"] for one in accounts}
    with running_versitygw(folder, users) as url:
        bucket = PolicedBucket(url)
        bucket.owner.create_bucket(Bucket=BUCKET)
        bucket.owner.put_bucket_policy(Bucket=BUCKET, Policy=bucket_policy())
        yield bucket
