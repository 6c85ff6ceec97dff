"""A row's unit tests, in LiveCodeBench's format."""

import base64
import binascii
import json
import zlib
from typing import Any

from pydantic import BaseModel, Field, JsonValue, model_validator

from odradek.verifiers.programs import CallCase, Case, Program, PythonFunction, PythonScript, TextCase


class UnitTests(BaseModel):
    """Inputs and outputs, side by side.

    With `fn_name`, a line of an input is an argument as JSON, and an output a result as JSON. Rows may also bring
    `packed`: the JSON of `inputs` and `outputs`, compressed by zlib and in base64, as NeMo Gym's LiveCodeBench does.
    """

    inputs: list[str] = Field(min_length=1)
    outputs: list[str]
    fn_name: str | None = Field(default=None, description="The function to call; None: stdin and stdout.")

    @model_validator(mode="before")
    @classmethod
    def _unpack(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("packed"), str):
            return given
        try:
            tests = json.loads(zlib.decompress(base64.b64decode(given["packed"])))
        except (ValueError, binascii.Error, zlib.error) as error:
            raise ValueError(f"packed can't be unpacked: {error}") from error
        return {**tests, "fn_name": given.get("fn_name")}

    @model_validator(mode="after")
    def _check(self) -> "UnitTests":
        if len(self.inputs) != len(self.outputs):
            raise ValueError(f"there are {len(self.inputs)} inputs and {len(self.outputs)} outputs")
        self.cases()
        return self

    def cases(self) -> list[Case]:
        pairs = zip(self.inputs, self.outputs, strict=True)
        if self.fn_name is None:
            return [TextCase(given, expected) for given, expected in pairs]
        return [
            CallCase(tuple(_json(line) for line in given.split("\n")), _json(expected))
            for given, expected in pairs
        ]

    def program(self, source: str) -> Program:
        """What the tests are for, made of a model's source."""
        return PythonScript(source) if self.fn_name is None else PythonFunction(source, self.fn_name)


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise ValueError(f"tests of a function are JSON, and {text[:80]!r} is not: {error}") from error
    return value
