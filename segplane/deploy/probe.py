"""`python -m segplane.deploy.probe URL [CA_FILE]`: exit code 0 if a process says that it works.

`grpc://host:port` is asked by grpc.health.v1 in plain text, `http://` and `https://` by a GET.
"""

import ssl
import sys
from urllib.error import URLError
from urllib.request import urlopen

_DEADLINE_SECS = 3.0


def is_working(url: str, ca_file: str = "") -> bool:
    """Return whether the process behind a URL answers as it should, within 3 s."""
    if url.startswith("grpc://"):
        from dataplane.readiness import is_serving

        return is_serving(url.removeprefix("grpc://"))
    context = ssl.create_default_context(cafile=ca_file) if ca_file else None
    try:
        with urlopen(url, timeout=_DEADLINE_SECS, context=context) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_working(*sys.argv[1:3]) else 1)
