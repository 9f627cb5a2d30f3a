"""An embedded Postgres in its own process, which may belong to another network namespace."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from segplane.stack.postgres import EmbeddedPostgres


@dataclass(frozen=True)
class PostgresProcess:
    """A running server; `url` leads to its socket, which every namespace of this machine sees."""

    url: str


@contextmanager
def postgres_process(
    folder: Path, settings: Mapping[str, str], launcher: Sequence[str] = ()
) -> Iterator[PostgresProcess]:
    """Run a server over a folder with settings of postgresql.conf; `launcher` starts its command.

    A thread of the tests' own process must not enter a namespace for this: threads that gRPC
    starts meanwhile would stay there, and later servers of the process would listen there.
    """
    command = [*launcher, sys.executable, "-m", __name__, str(folder), json.dumps(dict(settings))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "Postgres did not start"
            yield PostgresProcess(url)
        finally:
            process.stdin.close()
            process.wait()


def main() -> None:
    """Run the server until the standard input ends; print its URL once it takes connections."""
    folder, settings = sys.argv[1:]
    with EmbeddedPostgres(Path(folder), settings=json.loads(settings)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
