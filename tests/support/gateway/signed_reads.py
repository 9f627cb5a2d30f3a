"""Files of a bucket that PyIceberg reads with its own signer, through boto3 in place of s3fs."""

import io
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.io.fsspec import SIGNERS
from pyiceberg.typedef import EMPTY_DICT, Properties


class SignedReads(FileIO):
    """Reads whole objects; each request is signed by the catalog, no key is known here."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self._client = boto3.client(
            "s3",
            endpoint_url=properties["s3.endpoint"],
            region_name=properties["s3.region"],
            config=Config(signature_version=UNSIGNED, s3={"addressing_style": "path"}),
        )
        signer = SIGNERS[properties["s3.signer"]](properties)
        self._client.meta.events.register_last("before-sign.s3", signer)

    def new_input(self, location: str) -> InputFile:
        """Open an object."""
        return _Object(self._client, location)

    def new_output(self, location: str) -> OutputFile:
        """Nothing is written."""
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Nothing is deleted."""
        raise NotImplementedError


class _Object(InputFile):
    def __init__(self, client: Any, location: str) -> None:
        super().__init__(location)
        self._client = client
        parts = urlsplit(location)
        self._object = {"Bucket": parts.netloc, "Key": parts.path.lstrip("/")}

    def __len__(self) -> int:
        return int(self._client.head_object(**self._object)["ContentLength"])

    def exists(self) -> bool:
        """Ask with HEAD."""
        return len(self) >= 0

    def open(self, seekable: bool = True) -> InputStream:
        """Read all of it."""
        return io.BytesIO(self._client.get_object(**self._object)["Body"].read())
