"""NeMo Gym's kinds of failure and ours."""

from odradek_schemas.failures import Failure, FailureKind, Stage

_OURS = "odradek:"
"""0.7 lets a program name kinds of its own behind its name."""

_K, _S = FailureKind, Stage
_KINDS: dict[str, tuple[FailureKind, Stage]] = {
    "transport_unreachable": (_K.UPSTREAM_UNAVAILABLE, _S.TRANSPORT),
    "transport_peer_drop": (_K.UPSTREAM_UNAVAILABLE, _S.TRANSPORT),
    "transport_timeout": (_K.MODEL_DEADLINE, _S.TRANSPORT),
    "transport_local_resource": (_K.UPSTREAM_UNAVAILABLE, _S.TRANSPORT),
    "agent_run_error": (_K.HARNESS_ERROR, _S.HARNESS),
    "agent_request_failed": (_K.HARNESS_ERROR, _S.HARNESS),
    "agent_timeout": (_K.ROLLOUT_DEADLINE, _S.HARNESS),
    "agent_command_not_allowed": (_K.HARNESS_ERROR, _S.HARNESS),
    "judge_failed": (_K.VERIFIER_ERROR, _S.VERIFY),
    "judge_unparseable": (_K.JUDGE_UNREADABLE, _S.VERIFY),
    "verifier_error": (_K.VERIFIER_ERROR, _S.VERIFY),
    "provider_unavailable": (_K.ENVIRONMENT_ERROR, _S.SESSION),
    "provider_quota_exhausted": (_K.QUOTA_EXHAUSTED, _S.SESSION),
    "provider_oom_killed": (_K.ENVIRONMENT_KILLED, _S.SESSION),
    "session_lost": (_K.SESSION_LOST, _S.SESSION),
    "session_expired": (_K.SESSION_LOST, _S.SESSION),
    "session_release_failed": (_K.SESSION_LOST, _S.SESSION),
    "cancelled": (_K.RUN_CANCELLED, _S.PLAN),
    "kill_shaped": (_K.RUN_CANCELLED, _S.PLAN),
    "shutdown": (_K.RUN_CANCELLED, _S.PLAN),
}
_OTHER = (FailureKind.HARNESS_ERROR, Stage.HARNESS)


def read_failure(kind: str | None, reason: str | None) -> Failure | None:
    """A failure by NeMo Gym's name, which its message keeps; None where there was none."""
    if kind is None:
        return None
    own = kind.removeprefix(_OURS) if kind.startswith(_OURS) else ""
    if own in set(FailureKind):
        return Failure(kind=FailureKind(own), stage=Stage.HARNESS, message=reason or "no reason given")
    ours, stage = _KINDS.get(kind, _OTHER)
    return Failure(kind=ours, stage=stage, message=f"{kind}: {reason or 'no reason given'}")


def write_kind(failure: Failure) -> str:
    """The name of a kind of ours: one of NeMo Gym's own is in the message, if it came from there."""
    named = failure.message.partition(":")[0]
    return named if named in _KINDS else f"{_OURS}{failure.kind}"
