"""Writes the examples of policies in docs/, for `make deploy`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from segplane.deploy.policies import azure, google, s3

_BUCKET, _PATH = "example-bucket", "some/path/"
_GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/example-group"


def examples() -> Mapping[str, str]:
    """Return the files of docs/ by their names."""
    policies = {
        "bucket-policy.json": s3.of_bucket(_BUCKET, _PATH, s3.aws_role("123456789012")),
        "gcs-bucket-policy.json": google.of_bucket(_BUCKET, _PATH, "example-project"),
        "azure-role-assignments.json": azure.of_container(
            "example-container", _PATH, _GROUP, "exampleaccount"
        ),
    }
    return {name: json.dumps(policy, indent=2) + "\n" for name, policy in policies.items()}


def main(folder: Path) -> None:
    """Write them into a folder."""
    for name, text in examples().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
