"""Tokens: what was signed is read back, and nothing else is."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from odradek_runtime.access import Access, AccessError, Signer, TrainerAccess, create_secret
from odradek_schemas.messages import Sampling

SECRET = b"x" * 32
NOW = datetime(2100, 1, 1, tzinfo=UTC)
"""Tokens expire by the true clock."""
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def access(expires: datetime = NOW) -> Access:
    return Access(
        run_id="run",
        rollout_id="run/0/0",
        program_id="run/0/0/1/2",
        partition=3,
        model="m",
        sampling=Sampling(temperature=0.5),
        model_seconds=9,
        issued=NOW,
        expires=expires,
    )


def test_what_was_signed_is_read_back() -> None:
    signer = Signer(SECRET)
    trainer = TrainerAccess(expires=NOW)
    assert signer.read(signer.sign(access())) == access()
    assert signer.read(signer.sign(trainer)) == trainer


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (Signer(SECRET).sign(access(LONG_AGO)), "has expired"),
        (Signer(b"y" * 32).sign(access()), "none that this gateway knows"),
        (Signer(SECRET).sign(access())[:-4] + "AAAA", "none that this gateway knows"),
        ("sk-1", "none that this gateway knows"),
        ("", "none that this gateway knows"),
    ],
)
def test_no_other_token_is_read(token: str, told: str) -> None:
    with pytest.raises(AccessError, match=told):
        Signer(SECRET).read(token)


def test_a_secret_is_long_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    create_secret(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Signer.from_file(path).read(Signer.from_file(path).sign(access())) == access()
    with pytest.raises(AccessError, match="5 bytes long; at least 32"):
        Signer(b"short")
    with pytest.raises(AccessError, match="No such file"):
        Signer.from_file(tmp_path / "none")
