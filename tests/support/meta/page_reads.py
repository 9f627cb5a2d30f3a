"""The statement of a page of segments, in a transaction of a test."""

import re

from meta.store.engine.pool import Transaction
from meta.store.lookup.page_parts import PagePart
from meta.store.lookup.page_statement import (
    PageQuery,
    SegmentStatements,
    to_part,
)


def read_page(tx: Transaction, query: PageQuery) -> PagePart:
    """Read a page."""
    statement, values = SegmentStatements().bound(query)
    named = re.sub(r"\$(\d+)", r"%(p\1)s", statement.decode())
    parameters = {f"p{number}": value for number, value in enumerate(values, 1)}
    return to_part(tx.exec_driver_sql(named, parameters).one())
