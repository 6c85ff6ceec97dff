"""Structured logs on standard error: one JSON object (or a readable line) an event, with run_id and rollout_id."""

import logging
import os
import sys
from typing import Literal

import structlog

from odradek_runtime.redaction import Redacting, secrets_of

REPEAT_SECONDS = 5.0


class Sparing(logging.Filter):
    """Lets the same message of a logger through once in REPEAT_SECONDS.

    While a broker is away each of a worker's connections would tell of it many times a second.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith("aiokafka"):
            return True
        what = (record.name, str(record.msg))
        if record.created - self._told.get(what, 0.0) < REPEAT_SECONDS:
            return False
        self._told[what] = record.created
        return True


def configure_logs(worker: str, level: str, form: Literal["json", "console"]) -> None:
    """Send structlog and the standard library's loggers the same way."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler.setFormatter(Redacting(formatter, secrets_of(os.environ)))
    handler.addFilter(Sparing())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("aiokafka", "faststream", "uvicorn", "botocore"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    # It warns of each retry that the transaction protocol of older clients makes normal.
    logging.getLogger("aiokafka.producer.sender").setLevel(logging.ERROR)
    structlog.contextvars.bind_contextvars(worker=worker)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return logger
