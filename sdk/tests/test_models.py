"""`odradek.toml`: what it says is what is meant, and each mistake is named with its place."""

from pathlib import Path

import pytest

from odradek.models import ConfigError, Price, cost, read_config
from odradek_schemas.messages import Usage

GOOD = """
[models.policy]
preset = "vllm"
base_url = ["http://gpu-0:8000/v1", "http://gpu-1:8000/v1/"]
model = "Qwen/Qwen3-8B"

[models.judge]
preset = "openai"
model = "gpt-5-mini"
max_concurrency = 16

[models.claude]
preset = "anthropic"
model = "claude-sonnet-5"
api_key_env = "MY_KEY"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "odradek.toml"
    path.write_text(text)
    return path


def test_presets_fill_in_what_is_left_out(tmp_path: Path) -> None:
    models = read_config(written(tmp_path, GOOD))
    assert [replica.url for replica in models["policy"].base_url] == [
        "http://gpu-0:8000/v1",
        "http://gpu-1:8000/v1",
    ]
    assert (models["policy"].kind, models["policy"].token_ids) == ("vllm", True)
    judge = models["judge"]
    assert (judge.kind, judge.base_url[0].url, judge.max_concurrency) == (
        "openai",
        "https://api.openai.com/v1",
        16,
    )
    assert (judge.api_key_env, models["claude"].api_key_env) == ("OPENAI_API_KEY", "MY_KEY")


def test_keys_are_asked_for_only_with_an_environment(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(ConfigError) as caught:
        read_config(path, {"MY_KEY": "sk-1"})
    told = f"{path}: models.judge.api_key_env: the environment variable OPENAI_API_KEY is empty or not set"
    assert str(caught.value).startswith(told)
    assert len(read_config(path, {"MY_KEY": "sk-1", "OPENAI_API_KEY": "sk-2"})) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[models.m", "is not TOML"),
        ("", "models: Field required"),
        ('[model.m]\nmodel = "x"', "model: Extra inputs are not permitted"),
        ('[models.m]\nmodel = "x"', "models.m.base_url: Field required"),
        (
            '[models.m]\npreset = "vlm"\nmodel = "x"',
            "models.m: preset: 'vlm' is not known; there are: openai, ",
        ),
        (
            '[models.m]\nbase_url = "gpu:8000"\nmodel = "x"',
            "models.m.base_url.0.url: 'gpu:8000' is not a URL",
        ),
        ('[models.m]\nbase_url = "http://h/v1"\nmodel = "x"\ntemprature = 1', "models.m.temprature"),
        ('[models.m]\npreset = "anthropic"\nmodel = "x"\ntoken_ids = true', "models.m: token_ids"),
        ('[models.m]\npreset = ["openai"]\nmodel = "x"', "models.m: preset"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml can't be read"):
        read_config(tmp_path / "none.toml")


SHARED = """
[models.small]
preset = "openai"
model = "gpt-5-mini"
limits = "openai"
requests_per_minute = 500

[models.large]
preset = "openai"
model = "gpt-5"
limits = "openai"
requests_per_minute = 500
price = { input = 1.25, cached_input = 0.125, output = 10 }
"""


def test_models_that_share_a_limit_say_the_same_of_it(tmp_path: Path) -> None:
    models = read_config(written(tmp_path, SHARED))
    assert models["large"].price == Price(input=1.25, cached_input=0.125, output=10)
    unlike = SHARED.replace("requests_per_minute = 500\nprice", "requests_per_minute = 50\nprice")
    path = written(tmp_path, unlike)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    told = (
        f"{path}: models.large.requests_per_minute is 50, but 500 at 'small', which shares the limit 'openai'"
    )
    assert str(caught.value).startswith(told)


def test_a_call_costs_what_its_tokens_cost() -> None:
    usage = Usage(prompt_tokens=1000, cached_tokens=400, completion_tokens=100, reasoning_tokens=50)
    assert cost(usage, Price(input=1, cached_input=0.1, output=10)) == pytest.approx(0.00164)
    assert cost(usage, Price(input=1, output=10)) == pytest.approx(0.002)
