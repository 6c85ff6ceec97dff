"""Writes a tiny model of random weights, with its tokenizer: `python tiny_model.py FOLDER`. Run by vLLM's own Python.

A token for each letter, one for `th`, so that where text is cut matters, and one that ends a message.
"""

import string
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END = "<|end|>"
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}:{{ message.content }}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
HEAD = 64
"""The smallest size of a head that vLLM's attention on the CPU computes."""
LENGTH = 1024


def write_tokenizer(folder: Path) -> int:
    """Returns the size of its vocabulary."""
    letters = [" ", *string.digits, *string.ascii_letters, *string.punctuation]
    vocabulary = {token: number for number, token in enumerate([*letters, "th"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("t", "h")]))
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, chat_template=TEMPLATE)
    fast.save_pretrained(folder)
    return len(fast)


def write_model(folder: Path, vocabulary: int) -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=HEAD,
        intermediate_size=2 * HEAD,
        num_hidden_layers=2,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=HEAD,
        max_position_embeddings=LENGTH,
        initializer_range=1.0,
        tie_word_embeddings=False,
        eos_token_id=vocabulary - 1,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_model(folder, write_tokenizer(folder))
