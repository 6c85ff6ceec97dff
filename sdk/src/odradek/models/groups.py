"""Models that share one limit, such as those of one account: each says the same of it (pure)."""

from collections.abc import Iterator, Mapping

from odradek.models.settings import ModelSettings

_RATES = ("requests_per_minute", "tokens_per_minute")


def unlike(models: Mapping[str, ModelSettings]) -> Iterator[tuple[str, str]]:
    """The models that say otherwise of a shared limit than the first of its group: the field's path, and what is wrong."""
    firsts: dict[str, str] = {}
    for name, model in models.items():
        first = firsts.setdefault(model.limits or name, name)
        for field in _RATES:
            here, there = getattr(model, field), getattr(models[first], field)
            if here != there:
                what = f"is {here}, but {there} at {first!r}, which shares the limit {model.limits!r}: say the same"
                yield f"{name}.{field}", what
