"""The scripted server is what a real client takes for a model server."""

import json
import urllib.request
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

USER: ChatCompletionMessageParam = {"role": "user", "content": "add 4 then add 5 then get the count"}


def function(name: str, **properties: Any) -> ChatCompletionToolParam:
    parameters: dict[str, object] = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


COUNTER = [function("increment_counter", count={"type": "integer"}), function("get_counter_value")]
SYNONYMS = [
    function("get_synonym_value", synonym={"type": "string"}),
    function("extract_synonym_values", synonym_values={"type": "array", "items": {"type": "integer"}}),
]


@pytest.fixture
def client(scripted_model: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=scripted_model.base_url, api_key="none", max_retries=0)


def play(client: openai.OpenAI, messages: list[Any], tools: Any, results: list[str]) -> list[Any]:
    """Ask until there is an answer, with `results` for the calls; what was called and the answer."""
    said: list[Any] = []
    for result in [*results, ""]:
        reply = client.chat.completions.create(model="tool_loop", messages=messages, tools=tools)
        message = reply.choices[0].message
        if not message.tool_calls:
            return [*said, message.content]
        (call,) = message.tool_calls
        assert call.type == "function"
        said.append((call.function.name, json.loads(call.function.arguments)))
        messages = [
            *messages,
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": result},
        ]
    raise AssertionError(f"no answer after {said}")


def test_the_counter_is_incremented_as_asked_and_read(client: openai.OpenAI) -> None:
    assert play(client, [USER], COUNTER, ["ok", "ok", '{"count": 15}']) == [
        ("increment_counter", {"count": 4}),
        ("increment_counter", {"count": 5}),
        ("get_counter_value", {}),
        'Done: {"count": 15}',
    ]


def test_synonyms_are_looked_up_and_extracted(client: openai.OpenAI) -> None:
    told = "".join(
        f"The term '{term}' has a synonym '{synonym}'.\n"
        for term, synonym in (("Dry", "Arid"), ("Hot", "Blazing"), ("Hot", "Warm"))
    )
    messages = [{"role": "system", "content": told}, {"role": "user", "content": "How hot is it?"}]
    results = ['{"synonym_value": 711}', '{"synonym_value": 407}', "ok"]
    assert play(client, messages, SYNONYMS, results)[:3] == [
        ("get_synonym_value", {"synonym": "Blazing"}),
        ("get_synonym_value", {"synonym": "Warm"}),
        ("extract_synonym_values", {"synonym_values": [711, 407]}),
    ]


def test_tools_it_does_not_know_are_called_with_arguments_that_fit(client: openai.OpenAI) -> None:
    tools = [function("paint", colour={"enum": ["red"]}, times={"type": "integer", "minimum": 3})]
    call = ("paint", {"colour": "red", "times": 3})
    assert play(client, [USER], tools, ["a", "b", "c"]) == [call, call, call, "Done: c"]


def test_choices_are_answered_by_the_same_letter_each_time(client: openai.OpenAI) -> None:
    question: ChatCompletionMessageParam = {
        "role": "user",
        "content": r"Put it in \boxed{}. A: x" + "\nB: y\nC: z",
    }

    def answer(seed: int) -> str | None:
        reply = client.chat.completions.create(model="scripted", messages=[question], seed=seed)
        return reply.choices[0].message.content

    answers = [answer(seed) for seed in range(8)]
    assert answers == [answer(seed) for seed in range(8)]
    assert set(answers) <= {r"\boxed{A}", r"\boxed{B}", r"\boxed{C}"}
    assert len(set(answers)) > 1, "samples of one task may differ"


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "bad",
    [
        {"messages": []},
        {"messages": [{"role": "robot", "content": "hi"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 3}]},
        {"messages": [{"role": "assistant"}]},
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]},
        {"messages": [{"role": "assistant", "tool_calls": [CALL]}]},
        {"messages": [{"role": "assistant", "tool_calls": [CALL]}, USER]},
        {"temperature": "hot"},
        {"max_tokens": 0},
        {"tool_choice": "auto"},
        {"tools": [{"type": "function", "function": {"name": "no spaces"}}]},
        {"response_format": {"type": "json_schema"}},
        {"extra_body": {"no_such_parameter": 1}},
    ],
)
def test_a_bad_request_is_refused_in_openais_words(client: openai.OpenAI, bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"model": "instant", "messages": [USER]}
    client.chat.completions.create(**good)
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**good, **bad})
    assert caught.value.type == "invalid_request_error"


def test_statuses_are_those_that_the_client_knows(client: openai.OpenAI) -> None:
    for model, error in (
        ("rate_limited", openai.RateLimitError),
        ("error500", openai.InternalServerError),
        ("unauthorized", openai.AuthenticationError),
        ("close", openai.APIConnectionError),
        ("gpt-9", openai.NotFoundError),
    ):
        with pytest.raises(error):
            client.chat.completions.create(model=model, messages=[USER])


def test_requests_are_counted_by_id(client: openai.OpenAI, scripted_model: Any) -> None:
    for _ in range(3):
        client.chat.completions.create(
            model="instant", messages=[USER], extra_headers={"x-request-id": "counted"}
        )
    with urllib.request.urlopen(
        f"{scripted_model.base_url.removesuffix('/v1')}/counts", timeout=10
    ) as response:
        counts = json.load(response)
    assert counts["by_request_id"]["counted"] == scripted_model.asked("counted") == 3
    assert counts["total"] == sum(counts["by_request_id"].values())
    assert "tool_loop" in {model.id for model in client.models.list()}
