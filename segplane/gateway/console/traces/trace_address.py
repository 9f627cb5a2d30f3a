"""Addresses of one trace, in which everything that a person chose is kept."""

from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import quote

from segplane.gateway.console.addresses import address_of
from segplane.gateway.console.time_range import TimeRange
from segplane.gateway.console.traces.waterfall import CLOSED_MAX


@dataclass(frozen=True, slots=True)
class TraceAddress:
    """The address of a trace, of the parameters with these names."""

    NAMES: ClassVar = frozenset(
        ["dataset", "from", "to", "first", "closed", "zoom_from", "zoom_to"]
    )
    trace_id: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def dataset(self) -> str:
        """Return the dataset."""
        return next(value for name, value in self.parameters if name == "dataset")

    @property
    def closed(self) -> list[str]:
        """Return the keys of the nodes whose subtrees are closed."""
        return [value for name, value in self.parameters if name == "closed"]

    def page(self) -> str:
        """Return the address of the waterfall."""
        return self._address("", self.parameters)

    def from_row(self, first: int) -> str:
        """Return the waterfall from a row on."""
        return self._with("first", ("first", str(first) if first else "")).page()

    def toggled(self, key: str) -> str:
        """Return the waterfall with a subtree opened or closed; "" if no more can be closed."""
        if key in self.closed:
            pairs = tuple(pair for pair in self.parameters if pair != ("closed", key))
            return replace(self, parameters=pairs).page()
        if len(self.closed) >= CLOSED_MAX:
            return ""
        return replace(self, parameters=(*self.parameters, ("closed", key))).page()

    def opened(self) -> str:
        """Return the waterfall with all subtrees open."""
        return self._with("closed").page()

    def zoomed(self, zoom: TimeRange | None) -> str:
        """Return the waterfall of a part of the time; None = all of it."""
        bounds = zoom.absolute().parameters() if zoom else {"from": "", "to": ""}
        pairs = [(f"zoom_{name}", value) for name, value in bounds.items()]
        return self._with("first", ("zoom_from", ""), *pairs).page()

    def of_all_times(self) -> str:
        """Return the waterfall without a time range."""
        return self._with("from", ("to", "")).page()

    def span(self, key: str) -> str:
        """Return the address of a span's details."""
        return self._address("/span", [*self._basis(), ("span", key)])

    def logs(self) -> str:
        """Return the address of the logs of the trace."""
        return self._address("/logs", self._basis())

    def of_trace(self, trace_id: str) -> str:
        """Return the address of another trace of the dataset."""
        return TraceAddress(trace_id, (("dataset", self.dataset),)).page()

    def _basis(self) -> list[tuple[str, str]]:
        return [pair for pair in self.parameters if pair[0] in ("dataset", "from", "to")]

    def _with(self, without: str, *pairs: tuple[str, str]) -> "TraceAddress":
        """Return it with parameters, of which those without a value are left out."""
        replaced = {without, *(name for name, _ in pairs)}
        kept = [pair for pair in self.parameters if pair[0] not in replaced]
        return replace(self, parameters=(*kept, *(pair for pair in pairs if pair[1])))

    def _address(
        self, part: str, pairs: "list[tuple[str, str]] | tuple[tuple[str, str], ...]"
    ) -> str:
        path = f"/ui/traces/{quote(self.trace_id, safe='')}{part}"
        return address_of(path, pairs)
