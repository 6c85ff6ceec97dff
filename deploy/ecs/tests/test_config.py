"""The file: what is wrong in it is told before AWS is asked anything."""

from pathlib import Path

import pytest

from odradek_ecs.app import main
from odradek_ecs.config import ConfigError, notes, read_config

EXAMPLE = Path(__file__).parent.parent / "example.toml"
ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:odradek/access-AbCdEf"

WRONG = [
    (
        "cpu = 512\nmemory = 1024",
        "cpu = 500\nmemory = 1024",
        "pools.task-producer: cpu 500: Fargate has 256, 512",
    ),
    (
        "cpu = 512\nmemory = 1024",
        "cpu = 512\nmemory = 8192",
        "memory 8192: with cpu 512 Fargate has 1024, 2048, … 4096",
    ),
    (
        "min = 1\nmax = 16",
        "min = 0\nmax = 16",
        "pools.agent-worker.min: at least 1; it keeps rollouts' deadlines",
    ),
    (
        "min = 1\nmax = 8",
        "min = 0\nmax = 8",
        "pools.model-gateway.min: at least 1; agent programs ask it over HTTP",
    ),
    ("min = 1\nmax = 16", "min = 17\nmax = 16", "pools.agent-worker: min 17 is above max 16"),
    ("min = 1\nmax = 32", "min = 1\nmax = 33", "pools.env-worker.max: 33 workers share 32 partitions"),
    (
        "[pools.env-worker]",
        "[pools.env-workers]",
        "pools: there must be task-producer, agent-worker, env-worker",
    ),
    (f'"{ARN}"', '"hunter2"', "secrets.access_secret: String should match pattern"),
    (f'access_secret = "{ARN}"', "", "secrets.access_secret: is needed with agent_programs"),
    (
        'sasl_mechanism = "SCRAM-SHA-512"',
        "",
        "kafka: sasl_mechanism: is needed with a SASL_* security_protocol",
    ),
    ('username = "odradek"', "", "kafka: SCRAM-SHA-512: needs username"),
    (
        '"SCRAM-SHA-512"',
        '"AWS_MSK_IAM"',
        "AWS_MSK_IAM: needs security_protocol SASL_SSL and the cluster's ARN",
    ),
    ("OPENAI_API_KEY =", "OPENAI_KEY =", "model_keys.OPENAI_API_KEY: is missing; a model names it"),
    ("rediss://", "rediss://user:secret@", "redis_url: String should match pattern"),
    (
        "agent_programs = true",
        "agent_programs = true\nenv_opens_answers = true",
        "must run no agent_programs",
    ),
    ("partitions = 32", "partitions = 32\nlog_days = 8", "CloudWatch Logs keeps logs for one of 1, 3, 5, 7"),
    ('region = "eu-central-1"', 'region = "Frankfurt"', "region: String should match pattern"),
    ("[kafka]", "[kafka]\ncolour = 1", "kafka.colour: Extra inputs are not permitted"),
    ('"subnet-0123456789abcdef0"', '"mine"', "network.subnets.0: String should match pattern"),
    ("[network]", "[network", "is not TOML"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said[:50] for _old, _new, said in WRONG])
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = EXAMPLE.read_text()
    assert old in text
    path = tmp_path / "ecs.toml"
    path.write_text(text.replace(old, new))

    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert said in str(error.value)
    assert all(line.startswith(str(path)) for line in str(error.value).splitlines())
    assert "hunter2" not in str(error.value), "what was given in a secret's place may be the secret"
    assert "secret@" not in str(error.value)


@pytest.mark.parametrize("command", ["plan", "up", "status", "down"])
def test_without_credentials_it_ends_with_a_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    yes = ["--yes"] if command == "down" else []
    monkeypatch.setattr("sys.argv", ["odradek-ecs", command, "--config", str(EXAMPLE), *yes])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert "Unable to locate credentials" in said[0]


def test_the_command_ends_with_the_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ecs.toml"
    path.write_text("deployment = 7\n")
    monkeypatch.setattr("sys.argv", ["odradek-ecs", "plan", "--config", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 4
    said = capsys.readouterr().err.splitlines()
    assert f"error: {path}: deployment: Input should be a valid string" in said
    assert f"error: {path}: kafka: Field required" in said


def test_what_is_allowed_but_should_be_known_is_told(tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    assert notes(read_config(EXAMPLE)) == []
    path = tmp_path / "ecs.toml"
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("redis_url", "sasl_", "username", "password"))
    ]
    plain = "\n".join(lines).replace("[kafka]", '[kafka]\nsecurity_protocol = "PLAINTEXT"')
    path.write_text(
        plain.replace("disk_gib = 50", "spot_weight = 1").replace("min = 1\nmax = 32", "min = 0\nmax = 32")
    )
    told = notes(read_config(path))
    assert [note.split(" ")[0] for note in told] == [
        "without",
        "kafka.security_protocol",
        "pools.env-worker.min",
        "pools.env-worker.spot_weight:",
    ]
