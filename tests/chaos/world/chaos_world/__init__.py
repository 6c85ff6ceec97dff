"""A world that misbehaves on request of the task's row: its tools, its verifier and its harness.

Found by the services through the entry points beside it, when the folder above is on their PYTHONPATH.
"""

from chaos_world.environment import Chaos
from chaos_world.harness import Misplayed

__all__ = ["Chaos", "Misplayed"]
