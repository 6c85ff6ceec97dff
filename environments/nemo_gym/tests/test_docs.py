"""The page names what there is."""

import json
import re
from pathlib import Path

from odradek_nemo_gym.command import _parser
from odradek_nemo_gym.settings import BridgeSettings

PAGE = (Path(__file__).parents[3] / "docs" / "nemo-gym.md").read_text()


def test_the_table_of_settings_is_whole() -> None:
    table = PAGE.partition("| setting |")[2].partition("\n\n")[0]
    named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(named) == sorted(BridgeSettings.model_fields)


def test_the_examples_of_the_page_are_taken() -> None:
    runs = re.findall(r"^\$ odradek (?:run|rescore) (.*)$", PAGE, re.MULTILINE)
    for run in runs:
        ((name, value),) = re.findall(r"--set '?(\w+)=(.*?)'?(?: --|$)", run)
        BridgeSettings.model_validate({name: json.loads(value) if value.startswith("[") else value})
    starts = re.findall(r"^\$ odradek-nemo-gym-server (.*)$", PAGE, re.MULTILINE)
    for start in starts:
        _parser().parse_args(start.split())
    assert len(runs) == 2
    assert len(starts) == 1
