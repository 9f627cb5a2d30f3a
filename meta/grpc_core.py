"""Settings of gRPC's core, which reads them once: import this before grpc.

The core writes its own line for each failed TLS handshake, which any scanner of ports causes.

Its fork handlers abort a child of a process with busy channels now and then, 1 of 40, before the
child becomes another program: PySpark forks to start its JVM. Nothing of ours uses gRPC in a child.
An operator's variables win.
"""

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
