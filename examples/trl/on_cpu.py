"""What AsyncGRPOTrainer of TRL 1.16 asks of a GPU, and does without on a CPU."""

from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from trl.experimental.async_grpo import async_grpo_trainer, packing


def without_a_gpu() -> None:
    """Sequences are packed into one row and attended to by FlashAttention, which has no CPU kernel; and the trainer asks
    CUDA for the device's name to know its peak."""
    packing._flash_attn = lambda: SimpleNamespace(flash_attn_varlen_func=attend)
    async_grpo_trainer.get_peak_flops_per_device = lambda *told: None


def attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    starts: torch.Tensor,
    key_starts: torch.Tensor,
    *sizes: int,
    softmax_scale: float | None = None,
    **more: Any,
) -> torch.Tensor:
    """Causal attention within each sequence of a packed row, [tokens, heads, size]; a token's keys end with its own."""
    ends = zip(starts[:-1], starts[1:], key_starts[:-1], key_starts[1:], strict=True)
    parts = []
    for first, last, key_first, key_last in ends:
        if first == last:
            continue
        spans = ((queries, first, last), (keys, key_first, key_last), (values, key_first, key_last))
        shown = [packed[begin:end].transpose(0, 1)[None] for packed, begin, end in spans]
        mine, all_of_them = int(last - first), int(key_last - key_first)
        past = torch.ones(mine, all_of_them, dtype=torch.bool).tril(all_of_them - mine)
        told = scaled_dot_product_attention(*shown, attn_mask=past, scale=softmax_scale, enable_gqa=True)
        parts.append(told[0].transpose(0, 1))
    return torch.cat(parts)
