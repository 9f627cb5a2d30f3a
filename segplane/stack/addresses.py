"""Addresses of the stack that runs in a data folder, for commands on the same machine."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from segplane.terminal.whole_files import whole_file

if TYPE_CHECKING:
    from segplane.stack.config import StackSettings

_FILE = "addresses.json"


@dataclass(frozen=True, slots=True)
class StackAddresses:
    """Addresses of the processes of a stack; "" = the stack does not run this one."""

    meta: str
    otlp_http_url: str = ""
    gateway: str = ""
    # The gateway if its console takes one-time codes.
    console: str = ""


def addresses_of(settings: "StackSettings") -> StackAddresses:
    """Addresses of a stack that runs; the port of a part that does not is 0."""
    return StackAddresses(
        settings.meta_address,
        settings.otlp_http_url if settings.otlp_http_port else "",
        settings.gateway_bind if settings.gateway_port else "",
        settings.gateway_bind if settings.gateway_port and settings.takes_codes else "",
    )


def write(data_dir: Path, addresses: StackAddresses) -> None:
    """Keep the addresses of a stack that is ready."""
    with whole_file(data_dir / _FILE) as file:
        file.write(json.dumps(asdict(addresses)).encode())


def remove(data_dir: Path) -> None:
    """Forget the addresses of a stack that stops."""
    (data_dir / _FILE).unlink(missing_ok=True)


def read(data_dir: Path, meta: str = "") -> StackAddresses | None:
    """Read the addresses of the stack in a folder; None if its meta is not at the address `meta`.

    A stack that was killed has left its addresses there.
    """
    with suppress(OSError, ValueError, TypeError):
        addresses = StackAddresses(**json.loads((data_dir / _FILE).read_text()))
        return addresses if meta in ("", addresses.meta) else None
    return None
