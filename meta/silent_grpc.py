"""Keeps gRPC's core from writing to stderr; import it before grpc.

The core writes its own line for each failed TLS handshake, which any scanner of ports causes.
An operator's GRPC_VERBOSITY wins.
"""

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")
