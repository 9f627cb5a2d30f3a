"""PySpark's daemon, which forks Spark's Pythons, with the modules of tasks already imported.

Spark forks a Python for a task that finds none free, and ends it after a minute without a task.
Importing takes more than a second of CPU, which only this process spends. `spark.python.daemon.
module` names this module; Spark starts one such process for each executor.
"""

import gc
import os
import signal
from contextlib import suppress
from importlib import import_module

# Comma-separated names of modules to import.
MODULES = "SEGPLANE_TASK_MODULES"
# pyarrow imports pandas for its first array, if it is installed. PySpark leaves its worker to each
# fork, because some packages start threads as they are imported; those of tasks take a fork well.
_OF_FIRST_TASKS = ("pandas", "pyspark.worker")


def main() -> None:
    """Import what tasks need, and fork until Spark closes our standard input."""
    # The driver decides how long a task may take: a signal to the group or the container must not
    # end one in its drain. Spark itself closes the standard input.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    for name in (*os.environ.get(MODULES, "").split(","), *_OF_FIRST_TASKS):
        # An executor may have other packages or another Python: its first task compares versions.
        with suppress(Exception):
            import_module(name)
    gc.collect()
    # The forks share these objects' memory as long as nothing writes to it.
    gc.freeze()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
