"""docs/contract.md has every RPC of OperationsService in its table, and no other."""

import re
from pathlib import Path

from meta.v1 import operations_pb2

CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"


def test_every_added_rpc_is_documented() -> None:
    table = CONTRACT.read_text().partition("| RPC | ")[2].partition("\n\n")[0]
    documented = {
        name
        for row in re.findall(r"^\| ([^|]+) \|", table, re.M)
        for name in row.strip().split(", ")
    }

    service = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"]
    assert documented - {"---"} == {method.name for method in service.methods}
