"""`odradek keys` never takes a key away, and never says that all is well where it is not."""

from pathlib import Path
from typing import Any

import pytest

from odradek_cli.errors import Exit
from odradek_runtime.sealing import Opener, Sealer, SealError, create_keys


def _arguments(folder: Path) -> list[str]:
    names = {"public": "--public-key", "private": "--private-key", "secret": "--access-secret"}
    return ["keys", *(word for name, option in names.items() for word in (option, str(folder / name)))]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_there_stays(odradek: Any, tmp_path: Path) -> None:
    arguments = _arguments(tmp_path / "k")
    assert odradek(*arguments).exit_code == Exit.OK
    made = _contents(tmp_path / "k")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "k").iterdir()} == {0o600}
    assert "none was changed" in odradek(*arguments).stdout
    assert _contents(tmp_path / "k") == made


def test_a_private_key_gets_its_public_key_back(odradek: Any, tmp_path: Path) -> None:
    odradek(*_arguments(tmp_path))
    sealed = Sealer.from_file(tmp_path / "public").seal({"answer": 1})
    made = _contents(tmp_path)
    (tmp_path / "public").unlink()
    assert odradek(*_arguments(tmp_path)).exit_code == Exit.OK
    assert _contents(tmp_path) == made
    assert Opener.from_file(tmp_path / "private").open(sealed) == {"answer": 1}


def test_a_private_key_that_is_lost_is_told(odradek: Any, tmp_path: Path) -> None:
    odradek(*_arguments(tmp_path))
    (tmp_path / "private").unlink()
    done = odradek(*_arguments(tmp_path))
    assert done.exit_code == Exit.INVALID_INPUT
    assert f"{tmp_path / 'private'} is missing" in done.stderr
    assert sorted(_contents(tmp_path)) == ["public", "secret"]


def test_a_file_that_is_no_key_is_not_written_over(odradek: Any, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("mine")
    done = odradek(*_arguments(tmp_path))
    assert (done.exit_code, "it is not a key" in done.stderr) == (Exit.INVALID_INPUT, True)
    assert _contents(tmp_path) == {"private": b"mine"}


def test_keys_of_two_pairs_are_told(odradek: Any, tmp_path: Path) -> None:
    odradek(*_arguments(tmp_path))
    create_keys(tmp_path / "other" / "public", tmp_path / "other" / "private")
    (tmp_path / "public").write_bytes((tmp_path / "other" / "public").read_bytes())
    done = odradek(*_arguments(tmp_path))
    assert (done.exit_code, "are no pair" in done.stderr) == (Exit.INVALID_INPUT, True)


def test_an_empty_file_is_no_key(odradek: Any, tmp_path: Path) -> None:
    for name in ("public", "private", "secret"):
        (tmp_path / name).touch(mode=0o644)
    assert odradek(*_arguments(tmp_path)).exit_code == Exit.OK
    assert all(_contents(tmp_path).values())
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_three_keys_are_three_files(odradek: Any, tmp_path: Path) -> None:
    same = str(tmp_path / "key")
    done = odradek("keys", "--public-key", same, "--private-key", same, "--access-secret", same)
    assert (done.exit_code, "the same file" in done.stderr) == (Exit.USAGE, True)
    assert not _contents(tmp_path)


def test_a_folder_is_no_key(odradek: Any, tmp_path: Path) -> None:
    for name in ("public", "private", "secret"):
        (tmp_path / name).mkdir()
    done = odradek(*_arguments(tmp_path))
    assert (done.exit_code, str(tmp_path / "private") in done.stderr) == (Exit.INVALID_INPUT, True)


@pytest.mark.parametrize("content", [b"", b"no key", b"\xff\xfe", b"QUJD"])
def test_what_seals_and_opens_says_which_file_is_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    for kind in (Sealer, Opener):
        with pytest.raises(SealError, match="key: it is not a key"):
            kind.from_file(tmp_path / "key")  # type: ignore[attr-defined]
