"""Recovers the sound payloads of a baby segment whose checksum is wrong.

A flipped bit spoils the payload that it is in, not those of other tenants in the same baby. Each
payload has a checksum in its export's stamp, and all stamps have one together. If the stamps are
sound, so are the payloads that agree with them.
"""

from dataclasses import replace

from segments.baby import Baby, TokenPart, baby_of, crc32c, parse_baby, stamps_crc32c
from segments.errors import CorruptObject
from segments.signals import SIGNALS, TRAITS
from segments.v1 import combined_signals_pb2 as pb


def recover_baby(body: bytes) -> Baby:
    """Parse a damaged baby segment; its parts name the slices that are damaged.

    Raises CorruptObject if the damage is in the stamps or in the framing, or if the baby has no
    checksums of payloads, as those of 0.1.0.
    """
    message = parse_baby(body)
    if not message.stamp.HasField("stamps_crc32c"):
        raise CorruptObject("the baby segment has no checksums of its payloads")
    token_stamps = [
        (token_id, _stamps_alone(message.token_signals[token_id]))
        for token_id in sorted(message.token_signals, key=str.encode)
    ]
    if stamps_crc32c(token_stamps, message.stamp) != message.stamp.stamps_crc32c:
        raise CorruptObject("the checksum of the stamps is wrong")
    baby = baby_of(message)
    return replace(
        baby,
        parts=tuple(_checked(part, message.token_signals[part.token_id]) for part in baby.parts),
    )


def proven_payloads(body: bytes) -> Baby:
    """Parse a baby segment with damaged stamps; its parts name the slices that are not proven.

    A slice is proven by the checksum at its place among the stamps of its token and signal. Token
    and dataset of a part are not proven by it: the caller has to check them. Raises CorruptObject
    if the framing is damaged, or no payload has a checksum.
    """
    message = parse_baby(body)
    parts = []
    for part in baby_of(message).parts:
        try:
            parts.append(_checked(part, message.token_signals[part.token_id]))
        except CorruptObject:
            parts.append(part._replace(damaged=frozenset(range(len(part.slices)))))
    if all(len(part.damaged) == len(part.slices) for part in parts):
        raise CorruptObject("no checksum of a payload agrees")
    return replace(baby_of(message), parts=tuple(parts))


def _stamps_alone(entry: pb.TokenSignals) -> bytes:
    stamps = pb.TokenSignals()
    stamps.CopyFrom(entry)
    for signal in SIGNALS:
        stamps.ClearField(signal)
    return stamps.SerializeToString()


def _checked(part: TokenPart, entry: pb.TokenSignals) -> TokenPart:
    """Find the damaged slices of a part; raises CorruptObject if a slice has no checksum."""
    kind = TRAITS[part.signal].kind
    stamps = [export for export in entry.exports if export.signal == kind]
    if len(stamps) != len(part.slices) or not all(s.HasField("crc32c") for s in stamps):
        raise CorruptObject(f"{len(part.slices)} payloads of {part.signal} have other checksums")
    checksums = [stamp.crc32c for stamp in stamps]
    return part._replace(
        damaged=frozenset(
            index
            for index, (body, checksum) in enumerate(zip(part.slices, checksums, strict=True))
            if crc32c(body) != checksum
        ),
    )
