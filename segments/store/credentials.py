"""Credentials of one bucket, if they are not those that a process has for all others, and the CA.

SEGPLANE_CREDENTIALS_<BUCKET> names a file of the form that the provider's own tools know; <BUCKET>
is the bucket's name in capital letters, with _ for every other character. SEGPLANE_STORE_CA_FILE
names the CA whose certificates stores show.
"""

import configparser
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from segments.errors import StoreUnusable
from segments.location import StoreLocation

PREFIX = "SEGPLANE_CREDENTIALS_"
CA_FILE = "SEGPLANE_STORE_CA_FILE"


@dataclass(frozen=True, slots=True)
class BucketKeys:
    """Keys of an S3 bucket; each is None if the process's own are used."""

    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)


def ca_file() -> str | None:
    """The file of the CA that all stores are trusted by; None = as the cloud's library decides.

    Raises StoreUnusable if it cannot be read: without it every request would fail, and say less.
    """
    path = os.environ.get(CA_FILE, "")
    if path and not os.access(path, os.R_OK):
        raise StoreUnusable(f"{CA_FILE} is {path!r}, which cannot be read")
    return path or None


def setting_of(location: StoreLocation) -> str:
    """The name of the environment variable that names the file of a bucket's credentials."""
    return PREFIX + re.sub("[^A-Z0-9]", "_", location.bucket.upper())


def file_of(location: StoreLocation) -> Path | None:
    """The file of a bucket's credentials; None if it has none of its own."""
    # Read when a client is opened, as the clouds' libraries read theirs: also in Spark's workers.
    name = os.environ.get(setting_of(location), "")
    return Path(name) if name else None


def text_of(location: StoreLocation) -> str | None:
    """The content of that file, without the white space around it. Raises StoreUnusable."""
    path = file_of(location)
    if path is None:
        return None
    try:
        return path.read_text().strip()
    except (OSError, ValueError) as error:
        raise _unusable(location, f"cannot be read: {error}") from None


def keys_of(location: StoreLocation) -> BucketKeys:
    """The keys of an S3 bucket: the section [default] of a file as AWS's tools have it.

    Raises StoreUnusable.
    """
    text = text_of(location)
    if text is None:
        return BucketKeys()
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
        section = parser["default"]
        return BucketKeys(
            section["aws_access_key_id"],
            section["aws_secret_access_key"],
            section.get("aws_session_token"),
        )
    except (configparser.Error, KeyError):
        # The content is not quoted, because it may hold a secret.
        raise _unusable(
            location,
            "has no section [default] with aws_access_key_id and aws_secret_access_key",
        ) from None


def _unusable(location: StoreLocation, why: str) -> StoreUnusable:
    return StoreUnusable(f"the file that {setting_of(location)} names {why}")
