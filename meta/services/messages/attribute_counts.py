"""Counts of records by attribute, as their writers state them."""

import json

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.segment_facts import SIGNAL_MAX
from meta.v1 import common_pb2
from segments.attribute_counts import ATTRIBUTES_MAX, NAME_BYTES_MAX
from segplane.kql.dynamics import is_key


def checked(message: common_pb2.CreateSegment, field: str) -> str:
    """Check the counts of a segment and return them as `meta.store.catalog.attribute_counts` does.

    "" = there are none. Attributes that cannot be columns are passed over: senders choose them.
    """
    if not message.attribute_counts:
        return ""
    checks.at_most(message.attribute_counts, field, SIGNAL_MAX)
    number = sum(len(own.attributes) for own in message.attribute_counts)
    checks.count(number, field, high=ATTRIBUTES_MAX)
    checks.distinct([str(own.signal) for own in message.attribute_counts], field)
    counts = {}
    for index, own in enumerate(message.attribute_counts):
        at = f"{field}[{index}]"
        checks.count(own.signal, f"{at}.signal", low=1, high=SIGNAL_MAX)
        checks.count(own.records, f"{at}.records")
        attributes = {
            item.attribute: [
                checks.count(item.records, f"{at}.attributes.records"),
                checks.count(item.strings, f"{at}.attributes.strings"),
                checks.count(item.longs, f"{at}.attributes.longs"),
            ]
            for item in own.attributes
            if _is_name(item.attribute)
        }
        counts[own.signal] = [own.records, attributes]
    return json.dumps(counts)


def _is_name(attribute: str) -> bool:
    """Whether queries can name it, and people read it alike, also in a list that blanks divide."""
    # Each poll has the names of columns.
    if len(attribute.encode()) > NAME_BYTES_MAX or any(map(str.isspace, attribute)):
        return False
    # A column that meta chose for another would be read by no query.
    if not is_key(attribute):
        return False
    try:
        checks.new_name(attribute)
    except InvalidArgument:
        return False
    return True
