"""Where the answer is in a model's reply, by the rules of NeMo Gym 0.7's reasoning_gym server."""

import re

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{([^}]+)\}")


def extract(text: str) -> str:
    r"""What the last `<answer>...</answer>` holds, else the first `\boxed{...}`, else the whole text; all stripped."""
    tagged = _TAGGED.findall(text)
    if tagged:
        return str(tagged[-1]).strip()
    boxed = _BOXED.search(text)
    return (boxed[1] if boxed else text).strip()
