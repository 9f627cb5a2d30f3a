"""Every RPC has a row in the table of roles, and docs/access.md has that table."""

from pathlib import Path

from meta import roles as role_calls
from meta.roles import Role
from tests.support.meta.methods import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "access.md"


def test_every_rpc_has_a_row_and_every_row_an_rpc() -> None:
    served = {(method.containing_service.name, method.name) for method in METHODS}

    assert {(service, rpc) for service, rpc, _ in role_calls.rows()} == served


def test_the_table_of_roles_is_the_real_one() -> None:
    columns = [role for role in Role if role is not Role.ADMIN]
    expected = [
        f"| {service} | {rpc} | {' | '.join('x' if role in roles else '' for role in columns)} |"
        for service, rpc, roles in role_calls.rows()
    ]

    assert "\n".join(expected) in PAGE.read_text(), "\n".join(expected)
