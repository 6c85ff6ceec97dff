"""Replays all recordings and writes the table of `docs/environments.md`: `make oracle`.

Ends with status 1 when a reward differs and nobody has said why.
"""

import sys

from tests.oracle import recordings
from tests.oracle.table import DOCUMENT, lines, rendered
from tests.reasoning_gym import installing


def main() -> None:
    if not recordings.names():
        sys.exit(f"no recorded rollouts in {recordings.home()}; ODRADEK_SHARED says where they are")
    if installing.is_installed():
        sys.path.append(str(installing.folder()))
    found = lines()
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(), found))
    unexplained = [
        f"{line.name} row {row}" for line in found for row in line.differing if row not in line.case.differing
    ]
    for line in found:
        print(" | ".join(line.cells))
    if unexplained:
        sys.exit(f"rewards that are not as recorded: {', '.join(unexplained)}")


if __name__ == "__main__":
    main()
