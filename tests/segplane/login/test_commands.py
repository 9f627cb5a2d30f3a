"""segplane login, logout and whoami against a real meta and a real issuer."""

import json
from pathlib import Path

import pytest

from meta.roles import Role
from tests.support.login import Person
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.issuer import Issuer


def _log_in(
    person: Person, issuer: Issuer, *options: str, decision: str = "approved"
) -> tuple[int, str]:
    """Log in by the device grant as somebody who decides at once."""
    issuer.devices.decision = decision
    return person.run("login", "--issuer", issuer.url, *options)


def test_a_person_logs_in_by_the_device_grant_reads_and_logs_out(
    person: Person, issuer: Issuer
) -> None:
    process = person.start("login", "--issuer", issuer.url)
    try:
        # A code of no more than `expires_secs`, so these lines come or the pipe ends.
        assert process.stdout is not None
        shown = process.stdout.readline() + process.stdout.readline()
        with issuer.lock:
            issuer.devices.decide(shown.split()[-1])
        printed, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    printed = shown + printed

    assert process.returncode == 0, errors
    assert f"Open {issuer.url}/activate?user_code=ABCD-0000" in printed
    assert "as ann, role reader, until " in printed
    (file,) = person.files
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert person.run("datasets", "list")[0] == 0
    code, printed = person.run("whoami")
    assert code == 0
    facts = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert (facts["subject"], facts["role"], facts["datasets"]) == ("ann", "reader", "all")
    assert facts["credential"].startswith("segplane login, until ")

    assert person.run("logout") == (0, f"logged out of {person.address}\n")

    assert person.files == []
    assert issuer.devices.refresh_tokens == set()
    code, printed = person.run("datasets", "list")
    assert code == 1
    assert "see `segplane login`" in printed
    assert person.run("logout") == (0, f"there was no login to {person.address}\n")


def test_a_pasted_token_is_kept_and_the_environment_goes_before_it(
    person: Person, guard: GuardedServer
) -> None:
    pasted = guard.token(Role.READER, "ann").plaintext_token
    other = guard.token(Role.CATALOG, "bob").plaintext_token

    code, printed = person.run("login", stdin=f"{pasted}\n")

    assert code == 0
    assert printed == f"logged in to {person.address} as ann, role reader\n"
    assert pasted not in printed
    assert json.loads(person.run("whoami", "--json")[1])["subject"] == "ann"
    code, printed = person.run("whoami", SEGPLANE_META_AUTH_TOKEN=other)
    assert "bob" in printed
    assert "SEGPLANE_META_AUTH_TOKEN" in printed


def test_a_token_that_meta_does_not_take_is_not_kept(person: Person) -> None:
    for token in ("segp_unknown", "not a token", ""):
        code, printed = person.run("login", stdin=f"{token}\n")
        assert code in (1, 2)
        assert "error: " in printed
    assert person.files == []


def test_an_issuer_without_the_device_grant_leaves_a_pasted_token(
    person: Person, guard: GuardedServer, issuer: Issuer
) -> None:
    issuer.devices.has_device_endpoint = False
    pasted = guard.token(Role.READER, "ann").plaintext_token

    code, printed = person.run("login", "--issuer", issuer.url, stdin=f"{pasted}\n")

    assert code == 0
    assert "has no device authorization" in printed


@pytest.mark.parametrize("decision", ["access_denied", "expired_token"])
def test_a_refused_login_is_one_line(person: Person, issuer: Issuer, decision: str) -> None:
    code, printed = _log_in(person, issuer, decision=decision)

    assert code == 1
    assert printed.endswith(f"error: the issuer refused: {decision}\n")
    assert person.files == []


def test_an_issuer_that_is_away_or_not_one_is_one_line(person: Person, issuer: Issuer) -> None:
    issuer.stop()
    code, printed = person.run("login", "--issuer", issuer.url)
    issuer.start()
    assert (code, printed.count("\n")) == (3, 1)
    assert "cannot be used now" in printed

    for url, text in (
        ("http://login.example.com", "is not an https URL"),
        (f"{issuer.url}/", "the discovery document is of issuer"),
    ):
        code, printed = person.run("login", "--issuer", url)
        assert (code, text in printed) == (2, True), printed


def test_an_opaque_access_token_leaves_the_id_token(person: Person, issuer: Issuer) -> None:
    issuer.devices.is_opaque = True

    code, printed = _log_in(person, issuer)
    assert code == 2
    assert "try --id-token" in printed

    assert _log_in(person, issuer, "--id-token")[0] == 0
    assert person.run("datasets", "list")[0] == 0


def test_a_login_that_others_can_read_or_that_is_damaged_is_refused(
    person: Person, guard: GuardedServer
) -> None:
    person.run("login", stdin=guard.token(Role.READER).plaintext_token)
    (file,) = person.files

    file.chmod(0o640)
    code, printed = person.run("datasets", "list")
    assert code == 2
    assert "can be read by others" in printed
    file.chmod(0o600)
    for text in ("{", "[]", '{"token": 5}', '{"token": "x", "expires_at": "y"}', '{"other": 1}'):
        file.write_text(text)
        code, printed = person.run("datasets", "list")
        assert code == 2, text
        assert "is damaged" in printed
    assert person.run("logout")[0] == 0


def test_a_login_is_for_its_server_alone(person: Person, guard: GuardedServer) -> None:
    person.run("login", stdin=guard.token(Role.READER).plaintext_token)
    elsewhere = Person(person.folder, person.address.replace("127.0.0.1", "localhost"))

    assert person.run("datasets", "list")[0] == 0
    assert elsewhere.run("datasets", "list")[0] == 1


def test_a_token_is_not_sent_in_plain_text_to_another_machine(person: Person) -> None:
    code, printed = person.run("login", "--meta-address", "meta.example.com:9500", stdin="segp_x")

    assert code == 2
    assert "in plain text" in printed


def test_without_a_folder_there_is_no_login(person: Person, tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")

    assert Person(blocked, person.address).run("datasets", "list")[0] == 1
    assert Person(blocked, person.address).run("logout")[0] == 2
