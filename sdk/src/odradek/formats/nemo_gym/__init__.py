"""NeMo Gym's rollouts, one JSON object a line, as its versions 0.4 to 0.7 write them.

Source: `nemo_gym.rollout_collection`, `base_resources_server`, `openai_utils` (token ids lie on the last item of a
reply) and `rollout_observability` (`ng_trajectory`) of nemo-gym 0.7.0. 0.4 has neither `mask_sample` nor `failure_kind`
nor `ng_trajectory`. Recorded rows are often not valid as they stand: they are read leniently.
"""

from odradek.formats.nemo_gym.reading import read
from odradek.formats.nemo_gym.writing import write

__all__ = ["read", "write"]
