"""`python -m tests.dataplane.processes.busy_child FD`: reads nothing until its parent ends."""

import threading

from dataplane.processes.child_process import parent_socket

if __name__ == "__main__":
    parent_socket()
    threading.Event().wait()
