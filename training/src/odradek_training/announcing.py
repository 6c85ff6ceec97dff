"""Telling the model gateway which version of a policy is served now."""

import json
import urllib.error
import urllib.request

from odradek_training.errors import StreamError

ANNOUNCE_SECONDS = 30.0
_EXCERPT = 400


class PolicyNotAnnounced(StreamError):
    """The gateway did not take a policy's version; the message says why."""


class PolicyAnnouncer:
    """Says by `PUT /v1/policy` that `model` serves a version from now on; calls made after that carry it.

    `gateway`: the model gateway's address, without /v1. `token`: what `odradek token` printed. Announce a version when
    its weights are there, not before: a call is then never held to be newer than it is.
    """

    def __init__(self, gateway: str, token: str, model: str, within: float = ANNOUNCE_SECONDS) -> None:
        self._url = f"{gateway.rstrip('/')}/v1/policy"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._model = model
        self._within = within

    def __call__(self, version: str) -> None:
        """Announce `version`, which ends in a number that grows, and wait until the log has it.

        Raises:
            PolicyNotAnnounced: the gateway is not there, or refuses.
        """
        body = json.dumps({"model": self._model, "version": version}).encode()
        request = urllib.request.Request(self._url, body, self._headers, method="PUT")
        try:
            urllib.request.urlopen(request, timeout=self._within).close()
        except urllib.error.HTTPError as error:
            told = error.read()[:_EXCERPT].decode(errors="replace")
            raise self._failed(version, f"{error.code} {told}") from error
        except OSError as error:
            raise self._failed(version, repr(error)) from error

    def _failed(self, version: str, why: str) -> PolicyNotAnnounced:
        return PolicyNotAnnounced(
            f"version {version} of {self._model!r} could not be announced at {self._url}: {why}; "
            "`odradek status` tells the gateway's address, `odradek token` prints a token"
        )
