"""The chart, its example values and its renders."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.kubernetes.objects import Rendered

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
CHART = FOLDER / "odradek"
SCHEMA = CHART / "values.schema.json"
EXAMPLES = ("small", "strimzi", "msk")
VERSION = "1.36.3"
"""Of Kubernetes, that renders are for."""
RENDER_SECONDS = 60


class RefusedError(Exception):
    """Helm would not render; the message is what it said."""


def values(example: str) -> Path:
    return CHART / "values" / f"{example}.yaml"


def golden(example: str) -> Path:
    return FOLDER / "golden" / f"{example}.yaml"


def render(helm: Path, example: str, changes: Sequence[str] = ()) -> str:
    """What `helm template` makes of an example's values, with changes as `--set` takes them.

    Raises:
        RefusedError: the values are refused.
    """
    command = [str(helm), "template", "odradek", str(CHART), "--namespace", "odradek"]
    command += ["--kube-version", VERSION, "--values", str(values(example))]
    command += [word for change in changes for word in ("--set-json", change)]
    done = subprocess.run(command, timeout=RENDER_SECONDS, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def parsed(text: str) -> Rendered:
    return Rendered([one for one in yaml.load_all(text, yaml.CSafeLoader) if one])
