"""The console of the stack in a data folder: its key, and addresses that open it once."""

import time
from pathlib import Path

from meta.secrets import random_bytes
from segplane.gateway.console.sessions.codes import make_code
from segplane.terminal.whole_files import whole_file

_KEY_BYTES = 32


def path_in(data_dir: Path) -> Path:
    """Return the file of the key, which its owner alone can read."""
    return data_dir / "console-key"


def kept(path: Path) -> str:
    """Return the key that the file holds; "" if there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def ready_key(path: Path) -> None:
    """Make the key of a folder that has none."""
    if not kept(path):
        with whole_file(path, mode=0o600) as file:
            file.write(f"{random_bytes(_KEY_BYTES).hex()}\n".encode())


def address_of(gateway: str, path: Path) -> str:
    """Return an address that opens the console of a gateway once, within ten minutes."""
    code = make_code(kept(path), int(gateway.rpartition(":")[2]), time.time())
    return f"http://{gateway}/ui/login?code={code}"
