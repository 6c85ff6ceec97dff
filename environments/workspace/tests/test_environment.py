import json
import os

import pytest

from odradek.testing import call, play
from odradek_workspace import Workspace

ROW = {
    "task": {"instruction": "Copy a.txt to b.txt.", "files": {"a.txt": "one\n"}},
    "answer": {"expected_files": {"b.txt": "one", "c/d.txt": "two"}},
}


def test_the_tools_read_and_write_files():
    replies = [
        [call("list_files"), call("read_file", path="a.txt")],
        [call("write_file", path="b.txt", content="one"), call("read_file", path="no.txt")],
        "Done.",
    ]
    played = play(Workspace(), ROW, replies)
    assert played.observations[:3] == ['["a.txt"]', "one\n", "Wrote b.txt."]
    assert "There is no file 'no.txt'. Files: a.txt, b.txt." in played.observations[3]
    assert played.reward.reward == 0.5
    assert played.reward.details == {"missing": ["c/d.txt"], "different": []}


def test_a_program_finds_the_files_and_what_it_leaves_counts(tmp_path):
    environment = Workspace()
    state = environment.State(files={"a.txt": "one\n", "deep/er.txt": "x"})
    environment.furnish(state, tmp_path)
    assert (tmp_path / "deep/er.txt").read_text() == "x"
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt").write_text("two")
    (tmp_path / "picture").write_bytes(b"\xff\xd8")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/x").write_text("hidden")
    (tmp_path / "large.txt").write_text("y" * 2**20)
    environment.collect(state, tmp_path)
    assert state.files == {"b.txt": "two", "deep/er.txt": "x"}
    assert state.left_out == ["large.txt", "picture"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.txt", "a/../../b", ""])
def test_no_path_leads_out_of_the_folder(path, tmp_path):
    refused = play(Workspace(), ROW, [call("write_file", path=path, content="x"), "Done."])
    assert "must be a path beneath the folder" in refused.observations[0]
    with pytest.raises(ValueError, match="beneath the folder"):
        Workspace.Task(files={path: "x"})


def test_a_pipe_that_nobody_writes_to_is_left_out(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    state = Workspace.State(files={})
    Workspace().collect(state, tmp_path)
    assert (state.files, state.left_out) == ({}, [])


def test_the_examples_are_tasks_whose_answer_is_not_there_yet():
    environment = Workspace()
    for line in environment.examples().read_text().splitlines():
        row = json.loads(line)
        environment.split(row)
        played = play(environment, row, ["Nothing."])
        assert played.reward.reward == 0.0
