"""Parquet, and the layout of a Hugging Face data set around it. Needs pyarrow (`pip install "odradek[parquet]"`).

Columns are what one filters and groups by; messages are nested; the column `record` is the record whole, as JSON in
Odradek's own format, so that a file is read back without loss. Sources: the Parquet format 2.6; `datasets`' "Structure
your repository" (a README.md whose YAML head names the files of each split).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pydantic_core import from_json

from odradek.formats import own
from odradek.formats.records import BadRecord, Record
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.messages import Message

ROWS_PER_GROUP = 200
"""Rows that are in memory at a time: with tokens, a rollout may take megabytes."""
ROWS_PER_FILE = 20_000
DATA = "data"
_SUFFIX = ".parquet"


class PyarrowMissing(ImportError):
    """Parquet needs pyarrow."""


class FileWriter:
    """One file, written a row group at a time.

    Raises:
        PyarrowMissing: pyarrow is not installed.
    """

    def __init__(self, path: Path, scoring: str = PRIMARY_SCORING) -> None:
        self._arrow, parquet = _pyarrow()
        self._schema = _schema(self._arrow)
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._scoring = scoring
        self._group: list[dict[str, Any]] = []
        self.rows = 0

    def add(self, record: Record) -> int:
        """Add a row; returns how many were added."""
        self._group.append(row_of(record, self._scoring))
        self.rows += 1
        if len(self._group) == ROWS_PER_GROUP:
            self._flush()
        return 1

    def close(self) -> None:
        """Write what is left, and the file's end."""
        if self._group:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._group, self._schema))
        self._group.clear()


class FolderWriter:
    """A data set that `datasets.load_dataset(folder)` reads: `data/train-*.parquet` and README.md.

    Raises:
        PyarrowMissing: pyarrow is not installed.
    """

    def __init__(self, folder: Path, name: str, scoring: str = PRIMARY_SCORING) -> None:
        self._folder = folder
        self._name = name
        self._scoring = scoring
        self._files = self._rows = 0
        (folder / DATA).mkdir(parents=True)
        self._file = self._next()

    def add(self, record: Record) -> int:
        """Add a row; returns how many were added."""
        if self._file.rows == ROWS_PER_FILE:
            self._file.close()
            self._file = self._next()
        self._rows += 1
        return self._file.add(record)

    def close(self) -> None:
        """Write what is left, and the card."""
        self._file.close()
        card = _CARD.format(name=self._name, rows=self._rows, scoring=self._scoring)
        (self._folder / "README.md").write_text(card, encoding="utf-8")

    def _next(self) -> FileWriter:
        path = self._folder / DATA / f"train-{self._files:05}{_SUFFIX}"
        self._files += 1
        return FileWriter(path, self._scoring)


def read_rows(path: Path) -> Iterator[tuple[int, Record | BadRecord]]:
    """The records of a file, or of all files of a folder's `data`, with their numbers, from 1.

    Raises:
        PyarrowMissing: pyarrow is not installed.
    """
    _arrow, parquet = _pyarrow()
    number = 0
    for file in sorted((path / DATA).glob(f"*{_SUFFIX}")) if path.is_dir() else [path]:
        with parquet.ParquetFile(file) as opened:
            if "record" not in opened.schema_arrow.names:
                yield 0, BadRecord(0, "record", f"{file.name} has no such column: not an export of Odradek's")
                return
            for batch in opened.iter_batches(batch_size=ROWS_PER_GROUP, columns=["record"]):
                for text in batch.column("record").to_pylist():
                    number += 1
                    yield number, _read(text, number)


def row_of(record: Record, scoring: str = PRIMARY_SCORING) -> dict[str, Any]:
    """A row, by column."""
    trajectory, reward = record.trajectory, record.reward(scoring)
    failure = (reward.failure if reward else None) or trajectory.failure
    return {
        "run_id": trajectory.run_id,
        "rollout_id": trajectory.rollout_id,
        "task_id": trajectory.group.task_id,
        "sample": trajectory.sample,
        "environment": trajectory.environment,
        "harness": trajectory.harness,
        "model": trajectory.model,
        "status": str(trajectory.status),
        "truncated_by": trajectory.truncated_by,
        "failure": str(failure.kind) if failure else None,
        "scoring": reward.scoring if reward else None,
        "reward": reward.reward if reward else None,
        "masked": reward.masked if reward else None,
        "components": [
            {"name": name, "value": value} for name, value in (reward.components if reward else {}).items()
        ],
        "turns": trajectory.turns,
        "prompt_tokens": trajectory.usage.prompt_tokens,
        "completion_tokens": trajectory.usage.completion_tokens,
        "cost": trajectory.cost,
        "token_coverage": trajectory.token_coverage,
        "started_at": trajectory.started_at,
        "finished_at": trajectory.finished_at,
        "prompt_messages": trajectory.prompt_messages,
        "messages": [_message(message) for message in trajectory.messages],
        "record": own.write(record).decode(),
    }


def _message(message: Message) -> dict[str, Any]:
    """A message whose content is text. Parts that are no text are in `record` alone."""
    return {
        "role": message.role,
        "content": message.text,
        "reasoning_content": message.reasoning_content,
        "tool_call_id": message.tool_call_id,
        "tool_calls": [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
            for call in message.tool_calls or []
        ],
    }


def _schema(arrow: Any) -> Any:
    text, whole, real = arrow.string(), arrow.int64(), arrow.float64()
    call = arrow.struct([("id", text), ("name", text), ("arguments", text)])
    message = arrow.struct(
        [
            ("role", text),
            ("content", text),
            ("reasoning_content", text),
            ("tool_call_id", text),
            ("tool_calls", arrow.list_(call)),
        ]
    )
    time = arrow.timestamp("us", tz="UTC")
    texts = ("run_id", "rollout_id", "task_id")
    return arrow.schema(
        [
            *((name, text) for name in texts),
            ("sample", whole),
            *((name, text) for name in ("environment", "harness", "model", "status")),
            *((name, text) for name in ("truncated_by", "failure", "scoring")),
            ("reward", real),
            ("masked", arrow.bool_()),
            ("components", arrow.list_(arrow.struct([("name", text), ("value", real)]))),
            *((name, whole) for name in ("turns", "prompt_tokens", "completion_tokens")),
            *((name, real) for name in ("cost", "token_coverage")),
            *((name, time) for name in ("started_at", "finished_at")),
            ("prompt_messages", whole),
            ("messages", arrow.list_(message)),
            ("record", arrow.large_string()),
        ]
    )


def _read(text: str, number: int) -> Record | BadRecord:
    try:
        return own.read(from_json(text), number)
    except BadRecord as error:
        return error
    except ValueError as error:
        return BadRecord(number, "record", f"is not JSON: {error}")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        _missing(error)
    return pyarrow, pyarrow.parquet


def _missing(error: ImportError) -> NoReturn:
    raise PyarrowMissing('Parquet needs pyarrow: pip install "odradek[parquet]"') from error


_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.parquet
tags:
- odradek
- rollouts
---

# {name}

{rows} rollouts of LLM agents, one a row, recorded by Odradek. `reward` is that of the scoring `{scoring}`; null where \
it is masked: the rollout failed for the infrastructure's sake and says nothing of the model. `messages` is the whole \
conversation, of which the first `prompt_messages` are the prompt. `record` is everything, as JSON.
"""
