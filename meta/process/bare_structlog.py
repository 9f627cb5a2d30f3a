"""Imports structlog without rich, which it takes for tracebacks that no process prints with it.

Nothing of ours needs rich. Where another package has brought it, its modules are a fifth of the
imports of a collector. Everything that imports rich itself still gets it.
"""

import sys

_has_rich = "rich" in sys.modules
if not _has_rich:
    # For the import system, None says that there is no such module.
    sys.modules["rich"] = None  # type: ignore[assignment]
try:
    from structlog import get_logger
finally:
    if not _has_rich:
        del sys.modules["rich"]

__all__ = ["get_logger"]
