"""Objects under keys that follow from their content, so that a repetition writes no second copy.

The objects of an attempt that was killed before its registration become orphans after a day, and
orphans are condemned. The next attempt then takes other keys, but only once those of the one before
are condemned for certain and their objects deleted: a rebuild from the bucket never finds both.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from meta.client import MetaClient
from meta.errors import ObjectCondemned
from meta.v1 import operations_pb2
from segments.errors import CorruptObject, ObjectExists, ObjectMissing
from segments.store.interface import ObjectStore

Registered = TypeVar("Registered")
ATTEMPTS_MAX = 10


def register_once(
    client: MetaClient,
    store: ObjectStore,
    keys_of: Callable[[int], Sequence[str]],
    attempt: Callable[[int], Registered],
) -> Registered:
    """Write and register objects by `attempt`; `keys_of` names all that an attempt may write.

    Raises the last attempt's error, also if an object of it is registered otherwise.
    """
    number = _latest(store, keys_of)
    while True:
        try:
            return attempt(number)
        except (ObjectCondemned, ObjectExists, ObjectMissing, CorruptObject):
            number += 1
            if number == ATTEMPTS_MAX or not _discard(client, store, keys_of(number - 1)):
                raise


def _latest(store: ObjectStore, keys_of: Callable[[int], Sequence[str]]) -> int:
    """The last attempt that left an object: nobody takes other keys as long as it is sound."""
    for number in range(ATTEMPTS_MAX - 1, 0, -1):
        with suppress(ObjectMissing):
            store.head(keys_of(number)[0])
            return number
    return 0


def _discard(client: MetaClient, store: ObjectStore, keys: Sequence[str]) -> bool:
    """Condemn the keys of an attempt, then delete its objects; false if one is registered."""
    request = operations_pb2.CondemnObjectsRequest(object_keys=keys, written_by_caller=True)
    condemned = client.operations.CondemnObjects(request).condemned_keys
    if set(condemned) != set(keys):
        return False
    store.delete(keys)
    return True
