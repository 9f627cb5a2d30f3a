"""Connections to Postgres: their parameters, and statements with a deadline of the client.

A host that loses its power or its network closes nothing. Without these parameters the kernel
repeats packets for 15 minutes before a statement fails.
"""

import selectors
import time

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from sqlalchemy.engine import URL

from meta.store.engine import database_url

# Seconds until the next of several hosts is tried, and until a new connection's first answer.
CONNECT_SECS = 3
ANSWER_SECS = 3.0
# A peer whose packets vanish is given up after 10 s, whether a statement was sent or is awaited.
_DEFAULTS = {
    "connect_timeout": str(CONNECT_SECS),
    "tcp_user_timeout": "10000",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
}


class NoAnswer(psycopg.OperationalError):
    """The server has not answered in time. The connection is of no use any more."""


def parameters(url: URL, application_name: str, options: str = "") -> dict[str, str]:
    """The parameters of a connection by a normalized URL; what the URL says goes first.

    `options` are added to those of the URL and win over them.
    """
    keywords = {**_DEFAULTS, "application_name": application_name, **database_url.parameters(url)}
    if options:
        keywords["options"] = f"{keywords.get('options', '')} {options}".strip()
    return keywords


def ask(connection: "psycopg.Connection[object]", statements: str, secs: float) -> str:
    """The first value of the last statement's first row, as text; "" if it has none.

    For a connection without a transaction. Raises NoAnswer after `secs`, or the error of Postgres.
    """
    driver, deadline = connection.pgconn, time.monotonic() + secs
    driver.send_query(statements.encode())
    driver.flush()
    answer = ""
    with selectors.DefaultSelector() as selector:
        selector.register(driver.socket, selectors.EVENT_READ)
        while True:
            while driver.is_busy():
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise NoAnswer(f"no answer within {secs:g} s")
                driver.consume_input()
            result = driver.get_result()
            if result is None:
                return answer
            if result.status == ExecStatus.TUPLES_OK:
                answer = (result.get_value(0, 0) or b"").decode() if result.ntuples else ""
            elif result.status != ExecStatus.COMMAND_OK:
                raise error_from_result(result)
