"""Writes a tiny model of random weights, with a tokenizer of letters: `python tiny_model.py FOLDER`."""

import string
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

PAD, END, UNKNOWN = "<pad>", "<end>", "<unknown>"
LETTERS = [*string.ascii_lowercase, *string.digits, " ", ":", "."]
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
HIDDEN = 64
LENGTH = 128


def tokenizer() -> PreTrainedTokenizerFast:
    """A token for each letter."""
    vocabulary = {token: number for number, token in enumerate([PAD, END, UNKNOWN, *LETTERS])}
    by_letter = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    by_letter.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    by_letter.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=by_letter,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left",
        chat_template=TEMPLATE,
    )


def model(vocabulary: int, seed: int = 0) -> Qwen3ForCausalLM:
    """Some 77,000 parameters."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=vocabulary,
            hidden_size=HIDDEN,
            intermediate_size=2 * HIDDEN,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=HIDDEN // 4,
            max_position_embeddings=LENGTH,
            tie_word_embeddings=True,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )


def write(folder: Path) -> None:
    words = tokenizer()
    words.save_pretrained(folder)
    model(len(words)).save_pretrained(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
