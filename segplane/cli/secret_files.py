"""Secrets that commands write to a file of mode 0600 in place of printing them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.connection import refusal, usage
from segplane.cli.output import Answer
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from google.protobuf.message import Message

SecretFile = Annotated[
    Path | None,
    Option(
        "--output",
        metavar="FILE",
        help="Write the secret to a new file that only you can read; it is not printed.",
    ),
]


class SecretOutput:
    """Place of the secret of a command: a new file, or, without a path, its own output."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.is_written = False

    def kept(self, secret: str) -> str:
        """Write the secret if there is a file; returns its place in words, or the secret."""
        if self._path is None:
            return secret
        try:
            with self._path.open("w") as file:
                file.write(f"{secret}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise refusal(
                f"{self._path} cannot be written, and the secret is lost: {error.strerror}"
            ) from None
        self.is_written = True
        return f"in {self._path}"

    def answer(self, reply: "Message", field: str, notes: Sequence[str] = ()) -> Answer:
        """Answer with a reply whose field is the secret; `notes` are for one that is printed."""
        secret = getattr(reply, field)
        if self._path is None:
            return Answer(reply, [secret], notes)
        kept = self.kept(secret)
        reply.ClearField(field)
        return Answer(reply, [f"the secret is {kept}, which only you can read"])


@contextmanager
def secret_output(path: Path | None) -> Iterator[SecretOutput]:
    """Make the file before the secret is made, and remove it if none was."""
    output = SecretOutput(path)
    if path is None:
        yield output
        return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise usage(f"--output: {path} exists, and no file is replaced") from None
    except OSError as error:
        raise usage(f"--output: {path} cannot be written: {error.strerror}") from None
    try:
        yield output
    finally:
        if not output.is_written:
            path.unlink(missing_ok=True)
