"""Prices of costs, from a file that an operator keeps."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from meta.v1 import costs_pb2 as pb

GIB = 2**30
FILE_BYTES_MAX = 64 * 1024
PRICE_MAX = Decimal(10) ** 9
_CURRENCY_CHARACTERS_MAX = 8
# The price of the bytes of each kind, by the name of its line.
BYTES: Mapping[int, str] = {
    pb.COST_KIND_STORED: "stored_gib_month",
    pb.COST_KIND_INGEST: "ingest_gib",
    pb.COST_KIND_NURSERY: "nursery_gib",
    pb.COST_KIND_MERGE: "merge_gib",
    pb.COST_KIND_QUERY: "query_gib",
    pb.COST_KIND_UPKEEP: "upkeep_gib",
}
READS, WRITES, CPU = "read_requests_1000", "write_requests_1000", "cpu_hour"
NAMES = (*BYTES.values(), READS, WRITES, CPU)


class PricesInvalid(Exception):
    """The file of prices cannot be used; its text says why."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in a currency; a price that is not in the file is 0."""

    currency: str
    amounts: Mapping[str, Decimal]

    def cost(self, kind: int, amounts: pb.CostAmounts, month_days: int) -> Decimal:
        """Return the price of amounts of a kind in a month of so many days."""
        size = Decimal(amounts.bytes) / GIB
        if kind == pb.COST_KIND_STORED:
            size /= month_days
        hours = Decimal(amounts.cpu_micros) / 3_600_000_000
        return (
            size * self._price(BYTES.get(kind, ""))
            + Decimal(amounts.read_requests) / 1_000 * self._price(READS)
            + Decimal(amounts.write_requests) / 1_000 * self._price(WRITES)
            + hours * self._price(CPU)
        )

    def _price(self, name: str) -> Decimal:
        return self.amounts.get(name, Decimal(0))


def read_prices(path: Path) -> Prices:
    """Read a file of prices. Raises PricesInvalid."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise PricesInvalid(f"{path} has more than {FILE_BYTES_MAX} bytes")
        # Numbers are read as they are written.
        table = tomllib.loads(text.decode(), parse_float=Decimal)
    except OSError as error:
        raise PricesInvalid(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise PricesInvalid(f"{path} is not TOML: {error}") from error
    currency = table.pop("currency", "")
    if not _is_currency(currency):
        raise PricesInvalid(f"{path} needs a currency, such as EUR")
    if unknown := sorted(set(table) - set(NAMES)):
        raise PricesInvalid(f"{path} has {unknown[0]!r}, expected some of {', '.join(NAMES)}")
    return Prices(currency, {name: _price(path, name, price) for name, price in table.items()})


def _is_currency(value: object) -> bool:
    return (
        isinstance(value, str)
        and value.isprintable()
        and 0 < len(value.strip()) <= len(value) <= _CURRENCY_CHARACTERS_MAX
    )


def _price(path: Path, name: str, value: object) -> Decimal:
    try:
        # A bool is an int, and no price.
        price = Decimal("nan") if isinstance(value, bool) else Decimal(value)  # type: ignore[arg-type]
    except (InvalidOperation, TypeError, ValueError):
        price = Decimal("nan")
    if not (price.is_finite() and 0 <= price <= PRICE_MAX) or isinstance(value, str):
        raise PricesInvalid(f"{path}: {name} is {value!r}, not a price from 0 to {PRICE_MAX}")
    return price
