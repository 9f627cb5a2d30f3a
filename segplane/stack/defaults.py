"""Defaults of the stack on one machine, for the help of commands too."""

from pathlib import Path

HOST = "127.0.0.1"
META_PORT = 9500
PORT_MAX = 65_535
DEFAULT_DATA_DIR = Path("segplane-data")
