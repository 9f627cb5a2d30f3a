"""Comments of protos, from the descriptors with source locations that protoc writes."""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet


def comments_of(files: FileDescriptorSet) -> Mapping[str, str]:
    """Return the comments of services, RPCs, messages and fields by their full names."""
    comments = {}
    for file in files.file:
        for location in file.source_code_info.location:
            text = " ".join(location.leading_comments.split())
            name = _name_at(file, location.path) if text else ""
            if name:
                comments[f"{file.package}.{name}"] = text
    return comments


def _name_at(file: Any, path: Sequence[int]) -> str:
    """Return the name of what stands at a path of the descriptor, "" if it has none."""
    names, at = [], file
    for position in range(0, len(path) - 1, 2):
        at = getattr(at, type(at).DESCRIPTOR.fields_by_number[path[position]].name)
        at = at[path[position + 1]]
        names.append(getattr(at, "name", ""))
    return ".".join(names) if len(path) % 2 == 0 and all(names) else ""
