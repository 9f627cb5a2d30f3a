"""Turning buffered exports into one baby: payloads by token and signal, with their stamps."""

from collections.abc import Mapping, Sequence
from os import urandom

from collector.buffer import PendingExport
from collector.ingestion import ValidToken
from collector.stream_recovery import FLUSH_ID_BYTES
from segments.baby import Baby, BabyKind, Export, TokenPart
from segments.signals import Signal


def baby_of(
    exports: Sequence[PendingExport], tokens: Mapping[str, ValidToken], received_at: int
) -> Baby:
    """Build a data baby; `tokens` says by token_secret where each token routes now."""
    groups: dict[tuple[str, Signal], list[PendingExport]] = {}
    for export in exports:
        groups.setdefault((export.token_secret, export.signal), []).append(export)
    return Baby(
        parts=tuple(
            _part(tokens[token_secret], signal, members)
            for (token_secret, signal), members in groups.items()
        ),
        kind=BabyKind.DATA,
        flush_id=urandom(FLUSH_ID_BYTES),
        received_at=received_at,
    )


def stop_baby(received_at: int) -> Baby:
    """Build the last message of a stream."""
    return Baby((), BabyKind.STOP, urandom(FLUSH_ID_BYTES), received_at)


def _part(token: ValidToken, signal: Signal, exports: Sequence[PendingExport]) -> TokenPart:
    bounds = [export.facts.time_bounds(export.received_at) for export in exports]
    return TokenPart(
        token_id=token.token_id,
        signal=signal,
        slices=tuple(export.payload for export in exports),
        dataset_id=token.routing.dataset_id(signal),
        num_records=sum(export.facts.num_records for export in exports),
        start_time=min(start for start, _ in bounds),
        end_time=max(end for _, end in bounds),
        exports=tuple(Export(export.digest, export.received_at) for export in exports),
    )
