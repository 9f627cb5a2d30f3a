"""The frame of every process: settings, logs, the metrics port, shutdown, exit codes.

`meta.process.supervision` and `meta.process.memory` are for the processes that need them. A command
of `segplane` imports the modules that it needs: the others take long to import.
"""
