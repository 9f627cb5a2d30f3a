"""Callers by the names in their certificates: rules map them to subjects and roles."""

from dataclasses import replace
from pathlib import Path

import pytest

from meta import identities
from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.config import Settings
from meta.errors import RoleRefused, Unauthenticated
from meta.identities import CertificateRules, NamedRight
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.tls import ServerTls
from meta.roles import Role
from meta.server import server
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.certificates import Authority

LIST = catalog_pb2.ListDatasetsRequest()
SPIFFE = "spiffe://prod/ns/x/sa/nursery"
TLS = ServerTls(Path("cert"), Path("key"), Path("ca"))


def _rules(text: str) -> CertificateRules:
    return identities.certificate_rules(Environment("META_", {"META_TLS_SUBJECT_ROLES": text}), TLS)


def test_a_certificate_gives_the_role_of_its_rule(meta_settings: Settings, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "tls")
    own = authority.issue("meta")
    settings = replace(
        meta_settings,
        tls=ServerTls(own.cert, own.key, authority.ca_file),
        certificate_rules=_rules("reader-*.internal=reader,ops.internal=admin"),
        requires_authentication=True,
    )
    running = server.start(settings)
    address, ca_file = f"127.0.0.1:{running.port}", str(authority.ca_file)

    def client(name: str, token: str = "") -> MetaClient:
        files = authority.issue(name)
        tls = ClientTls(ca_file, str(files.cert), str(files.key))
        return MetaClient(address, auth_token=token, tls=tls)

    try:
        with client("reader-1.internal") as reader:
            assert reader.catalog.ListDatasets(LIST).items
            with pytest.raises(RoleRefused):
                reader.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="x"))
        with client("stranger.internal") as stranger, pytest.raises(Unauthenticated):
            stranger.catalog.ListDatasets(LIST)
        with client("ops.internal") as ops:
            ops.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="x"))
            made = ops.operations.CreateAccessToken(
                pb.CreateAccessTokenRequest(subject="s", role="catalog")
            )
            (record,) = ops.operations.ListAuditRecords(
                pb.ListAuditRecordsRequest(rpc="CreateDataset")
            ).records
        assert record.principal == "ops.internal"
        # A token says more than the certificate of the machine that shows it.
        with client("reader-1.internal", made.plaintext_token) as keeper:
            keeper.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="y"))
        with client("reader-1.internal", "segp_wrong") as wrong, pytest.raises(Unauthenticated):
            wrong.catalog.ListDatasets(LIST)
    finally:
        running.stop(1.0)


@pytest.mark.parametrize(
    ("sans", "common_name", "right"),
    [
        (["a.internal"], "", NamedRight("a.internal", Role.READER)),
        (["x", "a.internal"], "", NamedRight("a.internal", Role.READER)),
        (["a.b.internal"], "", None),
        (["evil.com/a.internal"], "", None),
        ([], "a.internal", NamedRight("a.internal", Role.READER)),
        # A certificate with alternative names is known by these alone.
        (["other"], "a.internal", None),
        ([SPIFFE], "", NamedRight(SPIFFE, Role.NURSERY)),
        (["spiffe://prod/ns/x/y/sa/nursery"], "", None),
        (["a_internal"], "", None),
        ([], "", None),
    ],
)
def test_a_star_stands_for_one_part_of_a_name(
    sans: list[str], common_name: str, right: NamedRight | None
) -> None:
    rules = _rules("spiffe://prod/ns/*/sa/nursery=nursery, *.internal=reader")
    certificate = {
        "x509_subject_alternative_name": [name.encode() for name in sans],
        "x509_common_name": [common_name.encode()] if common_name else [],
    }

    assert rules.rights(certificate) == (() if right is None else (right,))


@pytest.mark.parametrize(
    "text",
    [
        *("a", "=reader", "a=", "a=king", "*=reader", "*.*=reader"),
        # A tenant without a name, and a role that no tenant has.
        *("a=reader@", "a=admin@payments", "a=king@payments"),
    ],
)
def test_rules_that_say_nothing_or_too_much_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="META_TLS_SUBJECT_ROLES"):
        _rules(text)


def test_all_rules_that_fit_count_the_first_in_each_tenant() -> None:
    rules = _rules(
        "pay-*=reader@payments, *-1=catalog@payments, *-1=reader, pay-1=admin,"
        "pay-1=catalog@default, pay-1=tenant-reader@search"
    )

    rights = rules.rights({"x509_common_name": [b"pay-1"]})

    # An operator's right is counted to `default`, in which it names things.
    assert rights == (
        NamedRight("pay-1", Role.READER, "payments"),
        NamedRight("pay-1", Role.READER),
        NamedRight("pay-1", Role.TENANT_READER, "search"),
    )
    assert _rules("*//x=reader").rights({"x509_common_name": [b"//x"]}) == ()


def test_rules_need_certificates_of_clients() -> None:
    env = Environment("META_", {"META_TLS_SUBJECT_ROLES": "a=reader"})
    for tls in (None, replace(TLS, client_ca_file=None)):
        with pytest.raises(ConfigError, match="META_TLS_CLIENT_CA_FILE"):
            identities.certificate_rules(env, tls)
