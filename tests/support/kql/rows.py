"""A small table of every type, with a row of nulls, and one of odd values."""

import math
from datetime import UTC, datetime
from typing import Any

from kql.typed import Columns, Table

COLUMNS: Columns = {
    "id": "long",
    "i": "int",
    "l": "long",
    "r": "real",
    "s": "string",
    "b": "bool",
    "d": "datetime",
    "w": "timespan",
    "g": "guid",
    "j": "dynamic",
}
TABLE = Table("rows", COLUMNS, {})
NOON = datetime(2026, 1, 31, 12, 30, 15, 250_001, tzinfo=UTC)
GUID = "74be27de-1e4e-49d9-b579-fe0b331d3642"
JSON = '{"a":5,"b":"text","c":[1,"x",null],"http.route":"/cart","d":{"e":true},"n":null,"f":1.5}'
ROWS: list[tuple[Any, ...]] = [
    (1, 7, -7, 2.5, "GET /Cart", True, NOON, 90_000_000_000, GUID, JSON),
    (2, None, None, None, None, None, None, None, None, None),
    (3, -1, 2**62, math.nan, "", False, datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
     -1_500, GUID[:-1] + "f", '["x"]'),
    (4, 0, 0, -math.inf, "löwe_x cart\n", True, datetime(2024, 2, 29, tzinfo=UTC), 0, GUID, '"t"'),
]  # fmt: skip
