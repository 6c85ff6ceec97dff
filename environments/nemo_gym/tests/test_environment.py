"""A rollout at a server that is as strict as NeMo Gym's: what it is asked, what is kept, what the reward is."""

import json

import pytest
from aiohttp import web
from strict_server import CounterServer

from odradek import Limits, RowError
from odradek.testing import Played, call, play_async, raw_call
from odradek_nemo_gym import NemoGym
from odradek_schemas.failures import FailureKind

SOLVED = [call("increment_counter", count=2), call("get_counter_value"), "It is at 5."]
ONCE = Limits(max_attempts=1)


async def played(environment: NemoGym, row, replies=tuple(SOLVED), **more) -> Played:
    return await play_async(environment, row, list(replies), **more)


def kept(rollout: Played) -> dict:
    assert rollout.trajectory.evidence is None, "it was gathered with the answer: it must be sealed"
    return json.loads(rollout.trajectory.sealed_evidence or "null")


def failure(rollout: Played) -> FailureKind:
    assert rollout.reward is None
    assert rollout.trajectory.failure is not None
    return rollout.trajectory.failure.kind


async def test_a_rollout_is_played_and_scored_by_the_server(bridged, server: CounterServer, row) -> None:
    rollout = await played(bridged(), row)
    assert rollout.observations == ['{"success": true}', '{"count": 5}']
    assert rollout.reward is not None
    assert rollout.reward.reward == 1.0
    assert server.paths == [
        "/seed_session",
        "/increment_counter",
        "/get_counter_value",
        "/verify",
        "/close_session",
    ]


async def test_what_the_model_did_wrong_is_a_zero(bridged, row) -> None:
    rollout = await played(bridged(), row, [call("increment_counter", count=1), "Done."])
    assert rollout.reward is not None
    assert rollout.reward.reward == 0.0


async def test_the_session_is_one_from_its_seed_to_its_end(bridged, server: CounterServer, row) -> None:
    await played(bridged(), row)
    first, *others = server.asked
    assert first.session is None
    assert len({asked.session for asked in others}) == 1
    assert None not in {asked.session for asked in others}
    assert server.counters == {}, "the server was told to put the session away"


async def test_the_server_is_sent_the_row_as_it_stands(bridged, server: CounterServer, row) -> None:
    await played(bridged(), row)
    asked = {asked.path: asked.body for asked in server.asked}
    assert asked["/seed_session"] == row
    verified = asked["/verify"]
    assert {name: value for name, value in verified.items() if name != "response"} == row
    kinds = [item["type"] for item in verified["response"]["output"]]
    assert kinds == [
        "function_call",
        "function_call_output",
        "function_call",
        "function_call_output",
        "message",
    ]


async def test_a_recorded_rollout_is_a_task_as_well(bridged, server: CounterServer, row) -> None:
    recorded = row | {"reward": 1.0, "response": {"output": []}, "mask_sample": False}
    await played(bridged(), recorded)
    assert server.asked[0].body == row


async def test_nothing_of_the_row_but_the_prompt_is_open(bridged, row) -> None:
    task = bridged().split(row)
    assert task.task == {}
    assert task.answer == {"row": row}
    assert task.id == "7"


async def test_fields_that_are_called_public_are_in_the_task(bridged, row) -> None:
    task = bridged(public=["difficulty", "initial_count", "missing"]).split(row)
    assert task.task == {"difficulty": "easy", "initial_count": 3}


async def test_cookies_are_not_in_the_record(bridged, row) -> None:
    rollout = await played(bridged(), row)
    assert rollout.trajectory.final_state is None
    assert "cookie" not in rollout.trajectory.model_dump_json().lower()


async def test_components_and_named_numbers_come_back(bridged, server: CounterServer, row) -> None:
    server.verdict = {
        "reward_components": {"right": 1.0, "short": 0.25},
        "accuracy": True,
        "extracted": "5",
        "failure_kind": "judge_unparseable",
    }
    rollout = await played(bridged(components=["accuracy", "missing"], details=["extracted"]), row)
    assert rollout.reward is not None
    assert rollout.reward.components == {"right": 1.0, "short": 0.25, "accuracy": 1.0}
    assert rollout.reward.details == {"extracted": "5", "failure_kind": "judge_unparseable"}


async def test_what_is_not_named_stays_sealed(bridged, server: CounterServer, row) -> None:
    server.verdict = {"expected": "the answer"}
    rollout = await played(bridged(), row)
    assert rollout.reward is not None
    assert rollout.reward.details == {}
    assert kept(rollout)["verdict"] == {"reward": 1.0, "mask_sample": False, "expected": "the answer"}


@pytest.mark.parametrize(
    "verdict",
    [
        {"reward": 0.0, "mask_sample": True, "failure_kind": "judge_failed", "failure_reason": "no judge"},
        {"reward": None, "mask_sample": True},
        {"reward": 0.0, "_ng_failure_class": "judge_failed"},
    ],
)
async def test_a_masked_sample_is_never_a_zero(bridged, server: CounterServer, row, verdict) -> None:
    server.verdict = verdict
    rollout = await played(bridged(), row)
    assert rollout.trajectory.status == "completed"
    assert rollout.reward is None


async def test_a_refusal_to_verify_masks_and_is_kept(bridged, server: CounterServer, row) -> None:
    server.answers["/verify"] = [web.json_response("KeyError('x')", status=500)]
    rollout = await played(bridged(), row)
    assert (rollout.trajectory.status, rollout.reward) == ("completed", None)
    assert (kept(rollout)["refused"], kept(rollout)["refusal"]) == (500, "\"KeyError('x')\"")


async def test_a_reply_that_was_cut_short_is_told_to_be(bridged, server: CounterServer, row) -> None:
    await played(bridged(), row, ["Wait"])
    assert server.asked[-2].body["response"]["incomplete_details"] is None
    assert server.asked[-2].body["response"]["usage"]["total_tokens"] == 0


async def test_what_the_server_refuses_of_a_call_is_for_the_model_to_read(
    bridged, server: CounterServer, row
) -> None:
    bad = [
        call("increment_counter", count="two"),
        raw_call("increment_counter", "{"),
        call("verify"),
        *SOLVED,
    ]
    rollout = await played(bridged(), row, bad)
    refused, not_json, unknown = rollout.observations[:3]
    assert json.loads(refused)["detail"][0]["loc"] == ["count"]
    assert "not JSON" in not_json
    assert "There is no tool 'verify'" in unknown
    assert [step.is_error for step in rollout.trajectory.steps if step.kind == "tool"][:3] == [True] * 3
    assert rollout.reward is not None
    assert rollout.reward.reward == 1.0
    assert server.paths.count("/verify") == 1


async def test_a_row_that_the_server_refuses_is_not_tried_again(bridged, server: CounterServer, row) -> None:
    rollout = await played(bridged(), row | {"initial_count": "secret"}, [])
    assert failure(rollout) is FailureKind.INVALID_REQUEST
    assert rollout.trajectory.failure is not None
    assert "initial_count" in rollout.trajectory.failure.message
    assert "secret" not in rollout.trajectory.failure.message
    assert server.paths == ["/seed_session"]


@pytest.mark.parametrize(
    "text",
    [
        "<html>",
        "[]",
        '{"reward": "high"}',
        '{"reward": NaN}',
        "{}",
        '{"reward": 1.0, "reward_components": {"a": "b"}}',
    ],
)
async def test_a_verdict_that_is_none_fails_the_attempt(bridged, server: CounterServer, row, text) -> None:
    server.answers["/verify"] = [web.Response(text=text, content_type="application/json")]
    rollout = await played(bridged(), row, limits=ONCE)
    assert failure(rollout) is FailureKind.MALFORMED_REPLY
    assert server.paths[-1] == "/close_session", "the session is put away all the same"


async def test_a_server_that_hangs_costs_no_more_than_the_deadline(
    bridged, server: CounterServer, row
) -> None:
    server.delays["/increment_counter"] = 30.0
    rollout = await played(bridged(), row, limits=Limits(max_attempts=1, tool_seconds=0.2))
    assert failure(rollout) is FailureKind.TOOL_DEADLINE


async def test_a_server_that_is_down_fails_the_attempt(row) -> None:
    nowhere = NemoGym({"server_url": "http://127.0.0.1:9", "connect_seconds": 0.0})
    rollout = await played(nowhere, row, [], limits=ONCE)
    assert failure(rollout) is FailureKind.UPSTREAM_UNAVAILABLE


async def test_an_attempt_that_failed_leaves_no_session_behind(bridged, server: CounterServer, row) -> None:
    server.answers["/increment_counter"] = [web.Response(status=503)]
    rollout = await played(bridged(), row, [SOLVED[0], *SOLVED])
    assert rollout.reward is not None
    assert rollout.reward.reward == 1.0
    assert rollout.trajectory.attempt == 2
    assert [failed.kind for failed in rollout.trajectory.failed_attempts] == [
        FailureKind.UPSTREAM_UNAVAILABLE
    ]
    assert server.paths.count("/seed_session") == server.paths.count("/close_session") == 2
    assert server.counters == {}


@pytest.mark.parametrize("settings", [{}, {"server_url": "http://x", "server": "folder"}])
async def test_a_run_that_names_no_server_or_two_is_refused(row, settings) -> None:
    with pytest.raises(RowError, match="server_url"):
        NemoGym(settings).split(row)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"responses_create_params": None}, "responses_create_params"),
        ({"responses_create_params": {"input": []}}, "input"),
        (
            {"responses_create_params": {"input": "x", "tools": [{"type": "function", "name": "verify"}]}},
            "tools",
        ),
    ],
)
async def test_a_row_that_can_t_be_played_is_refused(bridged, row, change, field) -> None:
    with pytest.raises(RowError, match=field):
        bridged().split(row | change)


async def test_which_calls_may_be_made_again(bridged) -> None:
    environment = bridged(repeatable=["get_counter_value"])
    assert environment.at_most_once("increment_counter")
    assert not environment.at_most_once("get_counter_value")


@pytest.mark.parametrize(("mode", "once"), [("stateless", False), ("unsupported", True), ("nonsense", True)])
async def test_only_a_stateless_server_verifies_twice(
    bridged, server: CounterServer, row, mode: str, once: bool
) -> None:
    server.reverify_mode = mode
    environment = bridged()
    state = await environment.open(environment.Task(), environment.Answer(row=row), 0)
    assert environment.gathers_once(state) is once


async def test_a_reward_is_found_again_without_the_server(bridged, row) -> None:
    """Re-scoring: with what was kept, and other settings."""
    rollout = await played(bridged(), row)
    opened = rollout.trajectory.model_copy(update={"evidence": kept(rollout)})
    again = NemoGym({"server_url": "http://127.0.0.1:9", "components": ["reward"]})
    assert again.verify(opened, again.Answer(row=row)).components == {"reward": 1.0}
