r"""LaTeX boxes: `\boxed{...}`, in which models are asked to put their final answer."""

_BOX = "\\boxed{"
_TEXT = "\\text{"


def last_box(text: str) -> str | None:
    r"""What is inside the last `\boxed{...}`, braces balanced; None where there is none, or it does not close."""
    start = text.rfind(_BOX)
    if start < 0:
        return None
    start += len(_BOX)
    depth = 1
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    return None


def without_text_command(text: str) -> str:
    r"""`text` without the `\text{...}` that is wrapped around all of it, however often."""
    while text.startswith(_TEXT) and text.endswith("}"):
        text = text[len(_TEXT) : -1].strip()
    return text
