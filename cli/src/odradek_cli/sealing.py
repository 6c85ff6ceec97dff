"""The keys of a deployment: the public one seals answers, the private one opens them."""

from pathlib import Path

from odradek_cli import local
from odradek_cli.errors import CliError, Exit
from odradek_runtime.sealing import Sealer, SealError
from odradek_runtime.settings import SealingKeys

PUBLIC_KEY, PRIVATE_KEY = "sealing-public.key", "sealing-private.key"
VARIABLE = "ODRADEK_SEALING_PUBLIC_KEY_FILE"


def find_sealer() -> Sealer:
    """Seals with the key that `ODRADEK_SEALING_PUBLIC_KEY_FILE` names, else with the local stack's.

    Raises:
        CliError: there is no key.
    """
    path = SealingKeys().public_key_file or local.settings().folder / "keys" / PUBLIC_KEY
    try:
        return Sealer.from_file(path)
    except (SealError, ValueError) as error:
        raise CliError(
            f"answers can't be sealed: {error}",
            Exit.SOMETHING_MISSING,
            f"set {VARIABLE} to the deployment's public key",
        ) from error


def find_private_key() -> Path | None:
    """The file that `ODRADEK_SEALING_PRIVATE_KEY_FILE` names, else the local stack's; None: neither is here."""
    named = SealingKeys().private_key_file
    if named is not None:
        return named
    try:
        path = local.settings().folder / "keys" / PRIVATE_KEY
    except CliError:
        return None
    return path if path.exists() else None
