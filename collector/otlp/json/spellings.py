"""Members that resemble a known one: another spelling of its name, or its name in older OTLP.

The specification demands that unknown members are ignored. These are likely mistakes, of which a
sender is warned.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from google.protobuf.descriptor import Descriptor

from segments.signals import TRAITS

NAME_LENGTH_MAX = 100
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_POINT = {"labels": "attributes", "value": "asDouble or asInt"}
# Names that releases of OTLP before 1.0 had, by the message that has the newer one.
_OLDER: dict[str, dict[str, str]] = {
    "ResourceLogs": {"instrumentationLibraryLogs": "scopeLogs"},
    "ResourceSpans": {"instrumentationLibrarySpans": "scopeSpans"},
    "ResourceMetrics": {"instrumentationLibraryMetrics": "scopeMetrics"},
    "ScopeLogs": {"instrumentationLibrary": "scope", "logs": "logRecords"},
    "ScopeSpans": {"instrumentationLibrary": "scope"},
    "ScopeMetrics": {"instrumentationLibrary": "scope"},
    "LogRecord": {"name": "eventName"},
    "Metric": {
        "intGauge": "gauge",
        "doubleGauge": "gauge",
        "intSum": "sum",
        "doubleSum": "sum",
        "intHistogram": "histogram",
        "doubleHistogram": "histogram",
        "doubleSummary": "summary",
    },
    "NumberDataPoint": _POINT,
    "HistogramDataPoint": _POINT,
    "ExponentialHistogramDataPoint": _POINT,
    "SummaryDataPoint": _POINT,
    "Exemplar": {"filteredLabels": "filteredAttributes", "value": "asDouble or asInt"},
    "Status": {"deprecatedCode": "code"},
}


@dataclass(frozen=True, slots=True)
class Spellings:
    """The members of one message by how their names read without case and separators."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, descriptor: Descriptor) -> "Spellings":
        """Return the spellings of a message's members, those of older OTLP included."""
        spellings = {_folded(each.json_name): each.json_name for each in descriptor.fields}
        for older, newer in _OLDER.get(descriptor.name, {}).items():
            spellings.setdefault(_folded(older), newer)
        if any(descriptor.name == traits.messages[0] for traits in TRAITS.values()):
            for traits in TRAITS.values():
                spellings.setdefault(_folded(traits.json_name), f"an export to {traits.http_path}")
        return cls(spellings)

    def meant_by(self, name: str) -> str:
        """Return the member that an unknown name may mean; "" if it resembles none."""
        if len(name) > NAME_LENGTH_MAX:
            return ""
        return self.names.get(_folded(name), "")


def _folded(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())
