"""Settings are checked, and the errors say where and what to do."""

import os
from pathlib import Path

import orjson
import pytest

from odradek_model_gateway.app import create_processor, main
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.settings import SettingsError, load_settings
from odradek_model_gateway.upstream import HttpClient

LOCAL = {"base_url": "http://127.0.0.1:8000/v1/", "model": "smollm2"}


def set_models(monkeypatch: pytest.MonkeyPatch, models: object) -> None:
    monkeypatch.setenv("ODRADEK_MODELS", models if isinstance(models, str) else orjson.dumps(models).decode())


def test_models_are_read_with_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    set_models(monkeypatch, {"small": {**LOCAL, "api_key_env": None}})
    small = load_settings().models["small"]
    assert small.base_url[0].url == "http://127.0.0.1:8000/v1"
    assert (small.tool_calls, small.tries, small.token_ids, small.key({})) == ("native", 8, False, None)


def test_the_key_comes_from_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1\n")
    set_models(monkeypatch, {"big": {**LOCAL, "api_key_env": "MY_KEY"}})
    settings = load_settings()
    assert settings.models["big"].key(os.environ) == "sk-1"
    assert "sk-1" not in repr(settings)


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ("{", r"ODRADEK_MODELS: not JSON .*an example: \{"),
        ({}, "ODRADEK_MODELS: no model is named"),
        ({"m": {"model": "x"}}, "ODRADEK_MODELS.m.base_url: Field required"),
        (
            {"m": {**LOCAL, "base_url": "localhost:8000"}},
            "ODRADEK_MODELS.m.base_url.0.url: 'localhost:8000' is not a URL",
        ),
        ({"m": {**LOCAL, "base_url": "http://u:p@host/v1"}}, "no user, query or fragment"),
        ({"m": {**LOCAL, "base_url": ["http://a/v1", "http://a/v1"]}}, "the same URL twice"),
        ({"m": {**LOCAL, "base_url": []}}, "ODRADEK_MODELS.m.base_url"),
        ({"m": {**LOCAL, "tool_calls": "xml"}}, "ODRADEK_MODELS.m.tool_calls"),
        (
            {"m": {**LOCAL, "api_key_env": "NOT_SET_ANYWHERE"}},
            "NOT_SET_ANYWHERE is empty or not set: export it",
        ),
        ({"m": {**LOCAL, "temprature": 1}}, "ODRADEK_MODELS.m.temprature"),
        (
            {"m": {**LOCAL, "tries": 0}, "n": {**LOCAL, "tries": 99}},
            "ODRADEK_MODELS.m.tries.*ODRADEK_MODELS.n.tries",
        ),
    ],
)
def test_a_mistake_is_named(monkeypatch: pytest.MonkeyPatch, models: object, told: str) -> None:
    set_models(monkeypatch, models)
    with pytest.raises(SettingsError, match=told):
        load_settings()


def test_the_models_of_the_file_are_there_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Caught: a file that hides the variable, or the other way round."""
    file = tmp_path / "odradek.toml"
    file.write_text('[models.a]\npreset = "vllm"\nbase_url = "http://a/v1"\nmodel = "x"\n')
    monkeypatch.setenv("ODRADEK_CONFIG", str(file))
    set_models(monkeypatch, {"small": LOCAL})
    models = load_settings().models
    assert {name: model.kind for name, model in models.items()} == {"a": "vllm", "small": "openai"}
    file.write_text("[models.a]\nmodel = 3\n")
    with pytest.raises(
        SettingsError, match=r"ODRADEK_CONFIG: .*odradek.toml: models.a.base_url: Field required"
    ):
        load_settings()


def test_without_models_the_service_ends_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODRADEK_MODELS", raising=False)
    with pytest.raises(SystemExit, match="odradek-model-gateway: ODRADEK_MODELS: no model is named"):
        main()


def test_the_processor_reads_model_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    set_models(monkeypatch, {"small": LOCAL})
    monkeypatch.setenv("ODRADEK_MAX_IN_FLIGHT", "17")
    processor = create_processor(load_settings(), Gateway({}), HttpClient(connections=1))
    assert (processor.inputs, processor.changelog, processor.max_in_flight) == (("model-calls",), None, 17)


def test_a_redis_url_that_is_none_is_named_without_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    set_models(monkeypatch, {"small": LOCAL})
    monkeypatch.setenv("ODRADEK_REDIS_URL", "http://:secret@far.example/0")
    with pytest.raises(SettingsError, match="ODRADEK_REDIS_URL: URL scheme should be 'redis'") as told:
        load_settings()
    assert "secret" not in str(told.value)


def test_models_that_share_a_limit_say_the_same_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {**LOCAL, "limits": "account", "tokens_per_minute": 1000}
    set_models(monkeypatch, {"small": shared, "large": {**shared, "tokens_per_minute": 2000}})
    with pytest.raises(SettingsError, match=r"ODRADEK_MODELS\.large\.tokens_per_minute is 2000, but 1000 at"):
        load_settings()
