"""Advice to an operator about damage that needs a decision."""

from segments.keys import BabyKey, parse_key


def advice(key: str, segment_id: str = "ID") -> str:
    """Say what can be done about a damaged or missing object."""
    name = parse_key(key)
    if isinstance(name, BabyKey):
        return (
            f"put a sound copy of the object back under {key}; without one, the nursery merges its"
            " sound payloads, and `segplane streams skip"
            f" {name.stream_id} {name.offset} --accept-loss` passes what cannot be read"
        )
    if not key:
        return "report it: no command changes these rows"
    return (
        f"put a sound copy of the object back under {key}, or `segplane segments replace"
        f" {segment_id or 'ID'} FILE`; without one, `segplane segments hide {segment_id or 'ID'}"
        " --accept-loss` lets queries and merges go on without its records"
    )
