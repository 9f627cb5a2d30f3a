"""Errors of readers, each one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

from meta.client import MetaClient
from meta.errors import MetaError, NotFound, Unavailable
from segplane.read.lookup import with_suggestion

# Messages of gRPC's TLS for an authority that the client does not know, and for one of the same
# name.
_UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED", "certificate signature failure")


class ReadError(Exception):
    """The dataset cannot be read as asked; the message says why and what to change."""


class ViewRefused(ReadError):
    """There is no such view, or it cannot be read as it is defined; datasets can."""


class PinLost(ReadError):
    """The version is no longer kept from deletion. Open the dataset again."""


class MetaUnreachable(ReadError):
    """meta does not answer. Try again later, or with another address."""


@contextmanager
def meta_refusals(client: MetaClient) -> Iterator[None]:
    """Turn a refusal of meta into a ReadError."""
    try:
        yield
    except Unavailable as error:
        if any(text in str(error) for text in _UNTRUSTED):
            raise MetaUnreachable(
                f"the certificate of meta at {client.target} is not signed by the CA given"
                " (option ca or SEGPLANE_META_CA_FILE)"
            ) from error
        raise MetaUnreachable(
            f"meta does not answer at {client.target}: {sentence(error)}"
        ) from error
    except NotFound as error:
        raise ReadError(sentence(with_suggestion(client, error))) from error
    except MetaError as error:
        raise ReadError(f"{sentence(error)} ({error.reason})") from error


def sentence(error: BaseException) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split()) or type(error).__name__
