"""A verifier's version changes with what decides its rewards, and with nothing else."""

import importlib.util
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from odradek.verification import verifier_identity

SOURCE = """
from odradek import Environment, Reward
from pydantic import BaseModel

class Fair(Environment):
    name = "fair"
    class Task(BaseModel): ...
    def verify(self, trajectory, answer):
        return Reward(reward=1.0)
"""


def load(name: str, path: Path, folder: Path | None = None) -> ModuleType:
    places = None if folder is None else [str(folder)]
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def version(tmp_path):
    """The version of `Fair` in a package of the given files; a different package each time."""
    loaded = []

    def of(class_name="Fair", **files: str) -> str:
        name = f"fair_{len(loaded)}_{tmp_path.name.replace('-', '_')}"
        loaded.append(name)
        folder = tmp_path / name
        folder.mkdir()
        for stem, content in files.items():
            (folder / f"{stem}.py").write_text(textwrap.dedent(content))
        module = load(name, folder / "__init__.py", folder)
        return verifier_identity(getattr(module, class_name)()).version

    yield of
    for name in loaded:
        del sys.modules[name]


def test_the_same_code_elsewhere_is_the_same_version(version):
    assert version(__init__=SOURCE) == version(__init__=SOURCE)


def test_code_of_the_class_and_of_its_helpers_counts(version):
    versions = [
        version(__init__=SOURCE),
        version(__init__=SOURCE.replace("1.0", "0.5")),
        version(__init__=SOURCE, helper="LIMIT = 1"),
        version(__init__=SOURCE, helper="LIMIT = 2"),
        version(__init__=SOURCE, other="LIMIT = 2"),
    ]
    assert len(set(versions)) == len(versions)


def test_settings_alone_make_a_version(version):
    source = SOURCE + "    class Settings(BaseModel):\n        limit: int = 1\n"
    before = version(__init__=source)
    name = next(n for n in sys.modules if n.startswith("fair_0_"))
    fair = sys.modules[name].Fair
    assert verifier_identity(fair()).version == before
    assert verifier_identity(fair({"limit": 2})).version != before


def test_a_librarys_version_counts(version, monkeypatch):
    before = version(__init__=SOURCE + "    libraries = ('hypothesis',)\n")
    monkeypatch.setattr("odradek.verification.metadata.version", lambda name: f"another {name}")
    assert version(__init__=SOURCE + "    libraries = ('hypothesis',)\n") != before


def test_the_code_that_is_inherited_counts(version, tmp_path):
    load("inherited_base", _written(tmp_path / "inherited_base.py", SOURCE))
    child = "from inherited_base import Fair as Base\nclass Fair(Base):\n    name = 'child'\n"
    before = version(__init__=child)
    load("inherited_base", _written(tmp_path / "inherited_base.py", SOURCE.replace("1.0", "0.5")))
    assert version(__init__=child) != before


def test_a_module_without_a_package_is_its_own_code(tmp_path):
    (tmp_path / "unrelated.py").write_text("X = 1")
    first = load("lone_module", _written(tmp_path / "lone_module.py", SOURCE))
    before = verifier_identity(first.Fair())
    (tmp_path / "unrelated.py").write_text("X = 2")
    second = load("lone_module", tmp_path / "lone_module.py")
    assert verifier_identity(second.Fair()) == before
    assert (before.name, len(before.version)) == ("fair", 16)


def _written(path: Path, source: str) -> Path:
    path.write_text(source)
    return path
