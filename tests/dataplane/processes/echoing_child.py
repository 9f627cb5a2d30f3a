"""`python -m tests.dataplane.processes.echoing_child FD`: answers each message with itself."""

from dataplane.processes.child_process import parent_socket, serve

if __name__ == "__main__":
    serve(parent_socket(), bytes)
