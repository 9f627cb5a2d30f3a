"""Files of other clouds that PyIceberg reads by URLs that the gateway signs for it."""

import io
import json
from urllib.request import Request, urlopen

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.typedef import EMPTY_DICT, Properties

# fake-gcs-server gives objects by such URLs to Google's own host alone.
HOST = "tests.host"


class SignedUrls(FileIO):
    """Reads whole objects; each read is signed by the catalog."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)

    def new_input(self, location: str) -> InputFile:
        """Open an object."""
        return _Object(self.properties, location)

    def new_output(self, location: str) -> OutputFile:
        """Nothing is written."""
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Nothing is deleted."""
        raise NotImplementedError


class _Object(InputFile):
    def __init__(self, properties: Properties, location: str) -> None:
        super().__init__(location)
        self._properties = properties

    def __len__(self) -> int:
        return len(self._read())

    def exists(self) -> bool:
        """Read it."""
        return len(self) >= 0

    def open(self, seekable: bool = True) -> InputStream:
        """Read all of it."""
        return io.BytesIO(self._read())

    def _read(self) -> bytes:
        given = self._properties
        request = Request(
            f"{given['uri'].rstrip('/')}/{given['signer.endpoint']}",
            json.dumps({"method": "GET", "uri": self.location}).encode(),
            {"Authorization": f"Bearer {given['token']}", "Content-Type": "application/json"},
        )
        with urlopen(request, timeout=20) as reply:
            signed = json.loads(reply.read())
        headers = {"Host": given[HOST]} if HOST in given else {}
        with urlopen(Request(signed["uri"], headers=headers), timeout=20) as reply:
            return bytes(reply.read())
