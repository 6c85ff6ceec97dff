"""What can go wrong between a trainer and its stream. Each message says what, where, and what to do."""


class StreamError(Exception):
    """The stream can't go on."""


class StreamUnreachable(StreamError):
    """Kafka does not answer, or the topics are not there."""


class RunNotFound(StreamError):
    """The log holds no request for a run of this name."""


class RunDiffers(StreamError):
    """The run was asked for with other numbers than the stream needs: its group size, or its demand."""


class PositionDiffers(StreamError):
    """The position is not one, or was taken from a stream that reads something else."""


class PositionLost(StreamError):
    """Records that the position still needs are in the log no more."""


class PolicyUnordered(StreamError):
    """A policy's version does not end in a number, so how old a reward is can't be told."""


class StreamIdle(StreamError):
    """Nothing came within the idle timeout; the message says what was waited for."""


class DemandNotRaised(StreamError):
    """The log did not take a higher demand in time."""


class RunFailed(StreamError):
    """A run that the stream reads never began."""
