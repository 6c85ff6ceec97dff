"""A service: FastStream's application around one worker, with health, readiness and metrics over HTTP."""

from odradek_runtime.folds import StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.settings import WorkerSettings


def run_service(processor: StatefulProcessor | ConcurrentProcessor, settings: WorkerSettings) -> None:
    """Run one worker until SIGTERM or SIGINT, then drain it. Blocks; exits non-zero with one clear line on bad settings
    or an unreachable broker."""
    raise NotImplementedError
