"""`make sign` signs the checksums of wheels and images; `make verify` refuses all others."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIGNER = "release@example.org"
WHEELS = ("segplane-1-py3-none-any.whl", "segplane_server-1-py3-none-any.whl")
IMAGE = "segplane.oci.tar"

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None or shutil.which("make") is None,
    reason="needs ssh-keygen and make",
)


def make(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run make as from a shell, not as a part of the make that runs the tests."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def new_key(folder: Path, name: str) -> Path:
    """Make a key without a passphrase."""
    key = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return key


class SignedFolder:
    """A folder of two wheels and the archive of an image, signed, and the keys that may sign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dist = folder / "dist"
        self.dist.mkdir()
        for name in (*WHEELS, IMAGE):
            (self.dist / name).write_bytes(name.encode())
        self.signers = folder / "allowed_signers"
        key = new_key(folder, "key")
        self.signers.write_text(f"{SIGNER} {key.with_suffix('.pub').read_text()}")
        self.sign(key)

    def sign(self, key: Path) -> None:
        done = make("sign", f"DIST={self.dist}", f"KEY={key}")
        assert done.returncode == 0, done.stderr

    def verify(self) -> "subprocess.CompletedProcess[str]":
        return make("verify", f"DIST={self.dist}", f"SIGNERS={self.signers}", f"SIGNER={SIGNER}")


@pytest.fixture
def signed(tmp_path: Path) -> SignedFolder:
    return SignedFolder(tmp_path)


def test_signed_wheels_and_images_are_verified(signed: SignedFolder) -> None:
    done = signed.verify()

    assert done.returncode == 0, done.stderr
    assert all(f"{name}: OK" in done.stdout for name in (*WHEELS, IMAGE))


@pytest.mark.parametrize("name", [WHEELS[0], IMAGE])
def test_a_changed_wheel_or_image_is_refused(signed: SignedFolder, name: str) -> None:
    (signed.dist / name).write_bytes(b"changed")

    done = signed.verify()

    assert done.returncode != 0
    assert f"{name}: FAILED" in done.stdout


@pytest.mark.parametrize("name", ["other-1-py3-none-any.whl", "other.oci.tar"])
def test_a_wheel_or_image_that_is_not_signed_is_refused(signed: SignedFolder, name: str) -> None:
    (signed.dist / name).write_bytes(b"other")

    done = signed.verify()

    assert done.returncode != 0
    assert f"{name} is not signed" in done.stderr


def test_an_empty_folder_is_not_signed(tmp_path: Path) -> None:
    done = make("sign", f"DIST={tmp_path}", f"KEY={new_key(tmp_path, 'key')}")

    assert done.returncode != 0
    assert "holds no wheel and no image" in done.stderr
    assert not (tmp_path / "SHA256SUMS").exists()


def test_the_signature_of_another_key_is_refused(signed: SignedFolder) -> None:
    signed.sign(new_key(signed.folder, "other"))

    assert signed.verify().returncode != 0


def test_no_key_is_refused_with_the_way_to_pass_one() -> None:
    done = make("sign")

    assert done.returncode != 0
    assert "KEY=/path/to/an/SSH/key" in done.stderr
