"""The statement of a page of segments, in a transaction of a test."""

import re

from meta.store.engine.pool import Transaction
from meta.store.lookup.page_statement import AssembledPage, PageQuery, SegmentStatements


def read_page(tx: Transaction, query: PageQuery) -> AssembledPage:
    """Read a page, whether its rows keep messages or not."""
    statement, values = SegmentStatements({"": b""}).bound(query)
    named = re.sub(r"\$(\d+)", r"%(p\1)s", statement.decode())
    parameters = {f"p{number}": value for number, value in enumerate(values, 1)}
    return AssembledPage._make(tx.exec_driver_sql(named, parameters).one())
