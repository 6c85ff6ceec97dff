"""Samples replies of the current weights, as many at once as wait, with each token's id and logprob."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from safetensors.torch import load
from transformers import AutoModelForCausalLM

MOST_AT_ONCE = 128


@dataclass(frozen=True)
class Reply:
    """`token_ids`, `logprobs`: [tokens], in nats, under the distribution that was sampled from."""

    token_ids: list[int]
    logprobs: list[float]
    ended: bool


@dataclass
class Wish:
    """A prompt that waits for its reply."""

    prompt: list[int]
    most: int
    temperature: float
    seed: int | None
    reply: "asyncio.Future[Reply]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Sampler:
    """A model whose weights can be replaced between two batches: a reply is of one policy from its first token on."""

    def __init__(self, folder: Path) -> None:
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._end = int(self._model.config.eos_token_id)
        self._lock = Lock()
        self._waiting: list[Wish] = []
        self._some = asyncio.Event()

    def load(self, weights: bytes) -> None:
        """Replace the weights by those of a safetensors file. Raises RuntimeError: they are of another model."""
        with self._lock:
            told = self._model.load_state_dict(load(weights), strict=False)  # tied ones are sent once
            if told.unexpected_keys:
                raise RuntimeError(f"unknown weights: {', '.join(told.unexpected_keys[:5])}")

    async def sample(self, wish: Wish) -> Reply:
        self._waiting.append(wish)
        self._some.set()
        return await wish.reply

    async def run(self) -> None:
        """Answers what waits, for ever."""
        while True:
            await self._some.wait()
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            if not self._waiting:
                self._some.clear()
            wishes = [wish for wish in batch if not wish.reply.done()]
            try:
                replies = await asyncio.to_thread(self._sample, wishes)
            except Exception as error:  # noqa: BLE001 - who waits is told
                for wish in wishes:
                    wish.reply.set_exception(error)
                continue
            for wish, reply in zip(wishes, replies, strict=True):
                if not wish.reply.done():  # else nobody waits any more
                    wish.reply.set_result(reply)

    def _sample(self, wishes: list[Wish]) -> list[Reply]:
        """Prompts of the same length go together: no padding."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for number, wish in enumerate(wishes):
            by_length[len(wish.prompt)].append(number)
        replies: dict[int, Reply] = {}
        with self._lock, torch.inference_mode():
            for numbers in by_length.values():
                batch = [wishes[number] for number in numbers]
                replies.update(zip(numbers, self._together(batch), strict=True))
        return [replies[number] for number in range(len(wishes))]

    def _together(self, wishes: list[Wish]) -> list[Reply]:
        """The largest of logits with Gumbel noise is a sample of their softmax, and each wish has its own noise."""
        longest = max(wish.most for wish in wishes)
        shown = torch.tensor([wish.prompt for wish in wishes])
        divisors = torch.tensor([[wish.temperature or 1.0] for wish in wishes])
        noise = [_noise(wish, longest, self._model.config.vocab_size) for wish in wishes]
        noises = torch.tensor(np.stack(noise, axis=1), dtype=torch.float32)
        chosen, logprobs, past = [], [], None
        for step in range(longest):
            out = self._model(shown, cache=past, use_cache=True)
            past = out.cache
            spread = torch.log_softmax(out.logits[:, -1].float() / divisors, -1)
            shown = (spread + noises[step]).argmax(-1, keepdim=True)
            chosen.append(shown)
            logprobs.append(spread.gather(1, shown))
        ids, told = torch.cat(chosen, 1).tolist(), torch.cat(logprobs, 1).tolist()
        return [self._cut(*row) for row in zip(wishes, ids, told, strict=True)]

    def _cut(self, wish: Wish, ids: list[int], logprobs: list[float]) -> Reply:
        ids = ids[: wish.most]
        until = ids.index(self._end) + 1 if self._end in ids else len(ids)
        return Reply(ids[:until], logprobs[:until], self._end in ids)


def _noise(wish: Wish, tokens: int, vocabulary: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """[tokens, vocabulary]; none where the likeliest token is wanted."""
    noise = np.random.default_rng(wish.seed).gumbel(size=(tokens, vocabulary))
    return noise if wish.temperature else np.zeros_like(noise)
