"""HAProxy with the configuration of docs/haproxy.cfg, at addresses of this machine."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

from segplane.stack.preflight import claim_ports
from tests.support.waiting import wait_until

CONFIGURATION = Path(__file__).parents[3] / "docs" / "haproxy.cfg"
# Debian has it in a folder that is not on every user's path.
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def running_haproxy(
    folder: Path, metas: Sequence[str], ca_file: Path, changes: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run HAProxy before two metas; `changes` replaces other texts. Gives where clients connect."""
    port = claim_ports({"haproxy": 0})["haproxy"]
    text = CONFIGURATION.read_text()
    documented = {
        "bind :9500": f"bind 127.0.0.1:{port}",
        "10.0.0.11:9500": metas[0],
        "10.0.0.12:9500": metas[1],
        "/etc/segplane/ca.pem": str(ca_file),
    }
    for before, after in (documented | dict(changes or {})).items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    with serving(folder, text, port):
        yield f"127.0.0.1:{port}"


@contextmanager
def serving(folder: Path, text: str, port: int) -> Iterator[None]:
    """Run HAProxy with a configuration, until it listens at a port."""
    file = folder / "haproxy.cfg"
    file.write_text(text)
    assert HAPROXY is not None
    with subprocess.Popen([HAPROXY, "-db", "-f", str(file)]) as process:
        try:
            wait_until(lambda: _listens(port), "haproxy listens", seconds=10)
            yield
        finally:
            process.send_signal(signal.SIGTERM)


def _listens(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
