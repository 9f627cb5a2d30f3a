"""`python -m collector.intake.conversion_worker`: converts and validates exports.

JSON and damaged exports take seconds of Python, and the parser holds the interpreter until it is
done: in a thread they would hold up every other export. It answers requests of the collector, and
ends with it.
"""

import os
import pickle
import resource
from collections.abc import Callable
from typing import Any, Literal

from collector.intake.conformity import RecordRules, reject_schema_violations
from collector.otlp.attribute_bounds import AttributeBounds, cut
from collector.otlp.export import TooManyRecords, read_facts
from collector.otlp.json import to_protobuf
from collector.otlp.partial_success import PartialSuccess, reject_damaged, reject_outside
from collector.records.json_records import RecordOptions, to_logs
from collector.refusal import Refusal, Refused, malformed
from dataplane.processes.child_process import parent_socket, serve
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

# Address space of a worker: an export of 16 MiB JSON takes a third of it.
MEMORY_BYTES_MAX = 2 * 1024**3
# Conversions yield to the event loop if they share a core.
NICENESS = 5


Conversion = Literal["json", "records", "damaged", "conforming", "window", "attributes"]
Limit = int | tuple[int, int] | AttributeBounds | RecordOptions | RecordRules
"""Records that an export may have, the window of event times, bounds on attributes, or more."""
Request = tuple[Conversion | Literal["facts"], Signal, bytes, Limit]
Result = PartialSuccess | PayloadFacts
Reply = Result | Refusal | int
"""The result, why the export is refused, or how many records are too many (TooManyRecords)."""

_CONVERSIONS: dict[str, Callable[[Signal, bytes, Any], Result]] = {
    "json": to_protobuf,
    "records": to_logs,
    "damaged": lambda signal, body, _: reject_damaged(signal, body),
    "conforming": reject_schema_violations,
    "window": reject_outside,
    "attributes": cut,
    "facts": read_facts,
}


def main() -> None:
    """Convert until the collector ends."""
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    serve(parent_socket(), _answer)


def _answer(message: bytearray) -> bytes:
    request: Request = pickle.loads(message)  # noqa: S301 - written by the collector
    return pickle.dumps(_converted(request), pickle.HIGHEST_PROTOCOL)


def _converted(request: Request) -> Reply:
    conversion, signal, body, limit = request
    try:
        return _CONVERSIONS[conversion](signal, body, limit)
    except TooManyRecords as error:
        return error.num_parts
    except Refused as refused:
        return refused.refusal
    except MemoryError:
        return malformed("export takes too much memory to read; send smaller batches").refusal


if __name__ == "__main__":
    main()
