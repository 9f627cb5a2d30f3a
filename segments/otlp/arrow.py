"""Small columnar steps that decoding OTLP is made of; none of them loops over records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import pyarrow as pa
import pyarrow.compute

from segments.parquet.schema import TIMESTAMP


class Array(Protocol):
    """A pyarrow array of any type, or a scalar: the stubs know neither nested types nor kernels."""

    type: pa.DataType
    null_count: int
    offset: int
    indices: Array
    dictionary: Array
    offsets: Array

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Array: ...
    def as_py(self) -> Any: ...
    def buffers(self) -> list[Any]: ...
    def cast(self, target: pa.DataType) -> Array: ...
    def dictionary_encode(self) -> Array: ...
    def field(self, name: str) -> Array: ...
    def filter(self, mask: Array) -> Array: ...
    def flatten(self) -> Array: ...
    def slice(self, offset: int, length: int) -> Array: ...
    def take(self, indices: Array) -> Array: ...
    def to_pylist(self) -> list[Any]: ...


class _Functions:
    """The functions of a module, each of which returns an array or a scalar."""

    def __init__(self, module: object) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Array]:
        function = cast("Callable[..., Array]", getattr(self._module, name))
        # A task of few records looks up 1,300 of them.
        self.__dict__[name] = function
        return function


pc = _Functions(pyarrow.compute)
make = _Functions(pa)

# Arrow imports pandas for its first scalar or array of Python values, which takes half a second.
NO_TEXT = make.nulls(1, pa.string())[0]


def field(struct: Array, name: str) -> Array:
    """One member of a struct array; null if the struct is."""
    # The kernel takes ten times as long, and a task of few records calls it 150 times.
    return pc.struct_field(struct, name) if struct.null_count else struct.field(name)


def struct(members: Mapping[str, Array]) -> Array:
    """A struct array of its members."""
    return _Functions(pa.StructArray).from_arrays(list(members.values()), list(members))


def offsets(lists: Array) -> Array:
    """Start of each list in `lists.flatten()`, and the end of the last."""
    first = lists.offsets[0].as_py()
    return pc.subtract(lists.offsets, first) if first else lists.offsets


def regroup(lists: Array, values: Array) -> Array:
    """The lists with other elements in place of theirs, one for one; a null list is empty."""
    return _Functions(pa.ListArray).from_arrays(offsets(lists), values)


def parents(lists: Array) -> Array:
    """For each element of `lists.flatten()` the row of its list."""
    return pc.list_parent_indices(lists).cast(pa.int32())


def spread(mask: Array, values: Array) -> Array:
    """Put `values` into the rows where `mask` is true, in order; the others are null.

    Cheaper than replace_with_mask on strings.
    """
    running = pc.subtract(pc.cumulative_sum(mask.cast(pa.int32())), 1)
    return values.take(pc.if_else(mask, running, make.scalar(None, pa.int32())))


def scatter(rows: Array, values: Array, length: int) -> Array:
    """Put `values` into rows `rows` of an array of `length`; the first of a repeated row counts."""
    positions = pc.subtract(pc.cumulative_sum(make.repeat(make.scalar(1, pa.int32()), length)), 1)
    return values.take(pc.index_in(positions, value_set=rows))


def coded(indices: Array, values: Array) -> Array:
    """A dictionary array of string `values` taken by `indices`.

    Nulls move into the indices: the Parquet writer refuses them inside a dictionary. Equal values
    may stand in the dictionary twice; `compact` joins them.
    """
    distinct = values.dictionary_encode()
    codes = distinct.indices.take(indices).cast(pa.int32())
    return dictionary(codes, distinct.dictionary)


def dictionary(indices: Array, texts: Array) -> Array:
    """A dictionary array from its halves."""
    return _Functions(pa.DictionaryArray).from_arrays(indices, texts)


def constant(text: str, length: int) -> Array:
    """A dictionary array that is `text` in every row."""
    return dictionary(make.repeat(make.scalar(0, pa.int32()), length), make.array([text]))


def empty_to_null(texts: Array) -> Array:
    """Strings with null in place of ""."""
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), make.scalar(None, texts.type), texts)


def signed(numbers: Array) -> Array:
    """uint64 or narrower as int64, bit by bit: 2^63 and above come out negative."""
    return pc.cast(numbers, pa.int64(), safe=False)


def times(nanos: Array) -> Array:
    """fixed64 times as timestamps; 0 and 2^63 and above count as absent and are null."""
    bits = signed(nanos)
    return pc.if_else(pc.greater(bits, 0), bits, make.scalar(None, pa.int64())).cast(TIMESTAMP)


def hex_ids(ids: Array) -> Array:
    """Binary ids as lower-case hex; null if empty or null."""
    buffers = ids.buffers()
    starts = _Functions(pa.Array).from_buffers(
        pa.int32(), len(ids) + 1, [None, buffers[1]], offset=ids.offset
    )
    first, last = starts[0].as_py(), starts[-1].as_py()
    data = buffers[2]
    text = data.slice(first, last - first).to_pybytes().hex().encode() if last > first else b""
    ends = pc.cast(pc.multiply(pc.subtract(starts, first), 2), pa.int32())
    strings = _Functions(pa.StringArray).from_buffers(
        len(ids), ends.buffers()[1], pa.py_buffer(text)
    )
    has_text = pc.greater(pc.fill_null(pc.binary_length(ids), 0), 0)
    return pc.if_else(has_text, strings, NO_TEXT)
