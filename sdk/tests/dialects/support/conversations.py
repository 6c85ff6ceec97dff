"""Hypothesis strategies for conversations, requests and replies, in the core's shape.

Only what is said everywhere is drawn: no names of messages, and no two assistant messages in a row, which other
dialects take for one.
"""

import orjson
from hypothesis import strategies as st

from odradek.dialects.core import ChatRequest, Reply
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, Sampling, ToolCall, ToolSpec, Usage

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)
IDS = st.integers(0, 10**9).map(lambda number: f"call_{number}")
NAMES = st.from_regex(r"[a-z]{1,8}(_[a-z]{1,4})?", fullmatch=True).filter(lambda name: "__" not in name)
ARGUMENTS = st.dictionaries(
    NAMES, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS, max_size=3
)
CALLS = st.builds(
    lambda name, arguments: FunctionCall(name=name, arguments=orjson.dumps(arguments).decode()),
    NAMES,
    ARGUMENTS,
)
URLS = st.sampled_from(
    ["https://example.org/a.png", "data:image/png;base64,iVBORw0KGgo=", "data:image/gif;base64,R0lG"]
)
TEXT_PARTS = TEXTS.map(lambda text: {"type": "text", "text": text})
IMAGE_PARTS = URLS.map(lambda url: {"type": "image_url", "image_url": {"url": url}})
CONTENTS = TEXTS | st.lists(TEXT_PARTS | IMAGE_PARTS, min_size=2, max_size=3)


@st.composite
def replies_with_calls(draw):
    """An assistant message with text, calls, or both, their ids all different."""
    functions = draw(st.lists(CALLS, max_size=3))
    ids = draw(st.lists(IDS, min_size=len(functions), max_size=len(functions), unique=True))
    calls = [ToolCall(id=key, function=function) for key, function in zip(ids, functions, strict=True)]
    content = draw(TEXTS if not calls else st.none() | TEXTS)
    return Message(role="assistant", content=content, tool_calls=calls or None)


@st.composite
def turns(draw):
    """A user's message, the reply to it, and what the reply's calls gave."""
    asked = Message(role="user", content=draw(CONTENTS))
    reply = draw(replies_with_calls())
    results = [
        Message(role="tool", tool_call_id=call.id, content=draw(CONTENTS)) for call in reply.tool_calls or []
    ]
    return [asked, reply, *results]


TOOLS = st.builds(
    lambda name, description, argument, strict: ToolSpec(
        function=FunctionSpec(
            name=name,
            description=description,
            parameters={"type": "object", "properties": {argument: {"type": "string"}}},
            strict=strict,
        )
    ),
    NAMES,
    st.none() | TEXTS,
    NAMES,
    st.none() | st.booleans(),
)
NO_EFFORT = st.none()
SHARES = st.floats(0.1, 1.0)
FORMATS = NAMES.map(
    lambda field: {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": {"type": "object", "properties": {field: {}}}},
    }
)


@st.composite
def requests(draw, effort=NO_EFFORT):
    """A conversation with its tools, and the sampling that all dialects know."""
    head = draw(st.lists(TEXTS.map(lambda text: Message(role="system", content=text)), max_size=2))
    talk = [message for turn in draw(st.lists(turns(), min_size=1, max_size=3)) for message in turn]
    tools = draw(st.lists(TOOLS, max_size=2, unique_by=lambda tool: tool.function.name))
    named = [{"type": "function", "function": {"name": tool.function.name}} for tool in tools]
    choice = draw(st.sampled_from([None, "auto", "none", "required", *named])) if tools else None
    sampling = Sampling(
        temperature=draw(st.none() | SHARES),
        top_p=draw(st.none() | SHARES),
        max_tokens=draw(st.integers(1, 10**5)),
        tool_choice=choice,
        parallel_tool_calls=False if tools and choice and draw(st.booleans()) else None,
        response_format=draw(st.none() | FORMATS),
        reasoning_effort=draw(effort),
    )
    return ChatRequest(messages=[*head, *talk], tools=tools, sampling=sampling)


USAGES = st.builds(
    lambda cached, more, given, thought: Usage(
        prompt_tokens=cached + more,
        completion_tokens=given + thought,
        cached_tokens=cached,
        reasoning_tokens=thought,
    ),
    *[st.integers(0, 10**6)] * 4,
)


@st.composite
def replies(draw):
    """A reply, and why it ended."""
    message = draw(replies_with_calls())
    thought = draw(st.none() | TEXTS)
    ended = ["tool_calls"] if message.tool_calls else ["stop", "length", "content_filter"]
    return Reply(
        message.model_copy(update={"reasoning_content": thought}),
        draw(st.sampled_from(ended)),
        draw(USAGES),
    )
