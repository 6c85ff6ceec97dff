"""An agent that runs elsewhere: it is asked over HTTP, and asks its model through the gateway like any program."""

import asyncio

import orjson
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

from odradek.programs import Call, Outcome, Trouble

MOST_ANSWER = 4 << 20


async def ask(url: str, call: Call, seconds: float) -> Outcome:
    """POST the call as JSON; a 200 with `{"result": "..."}` is the agent's last word."""
    body = {
        "prompt": call.prompt,
        "base_url": call.base_url,
        "token": call.token,
        "model": call.model,
        "rollout_id": call.rollout_id,
    }
    try:
        async with (
            asyncio.timeout(seconds),
            ClientSession(timeout=ClientTimeout(total=None)) as session,
            session.post(url, json=body, allow_redirects=False) as response,
        ):
            return _outcome(url, response.status, await _read(response))
    except TimeoutError:
        return Outcome(trouble=Trouble.TIMED_OUT, reason=f"{url} has not answered within {seconds:g} s")
    except (ClientError, OSError) as error:
        return Outcome(trouble=Trouble.UNREACHABLE, reason=f"{url}: {type(error).__name__}: {error}")


async def _read(response: ClientResponse) -> bytes:
    """The answer, and no more of it than is looked at."""
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > MOST_ANSWER:
            break
    return bytes(answer[:MOST_ANSWER])


def _outcome(url: str, status: int, answer: bytes) -> Outcome:
    if status != 200:
        reason = f"{url} answers {status}: {answer.decode(errors='replace')}"
        return Outcome(trouble=Trouble.REPORTED, reason=reason)
    try:
        told = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        return Outcome(trouble=Trouble.NO_RESULT, reason=f"{url} answers what is not JSON: {error}")
    if not isinstance(told, dict) or not isinstance(told.get("result"), str):
        return Outcome(trouble=Trouble.NO_RESULT, reason=f'{url} answers without {{"result": "..."}}')
    return Outcome(result=told["result"])
