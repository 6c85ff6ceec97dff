"""The public key of a deployment, with which answers are sealed."""

from odradek_cli import local
from odradek_cli.errors import CliError, Exit
from odradek_runtime.sealing import Sealer, SealError
from odradek_runtime.settings import SealingKeys

PUBLIC_KEY = "sealing-public.key"
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
