"""Where pictures go: a terminal that is painted anew, lines of JSON, or one below the other where there is no terminal."""

import json
from types import TracebackType

from rich.console import Console
from rich.live import Live

from odradek_cli.live import Picture
from odradek_cli.live_view import live_json, live_view


class LiveScreen:
    """Paints each picture over the last; off a terminal below it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> None:
        if self._live:
            self._live.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.__exit__(kind, error, trace)

    def show(self, picture: Picture) -> None:
        if self._live:
            self._live.update(live_view(picture), refresh=True)
        else:
            self._console.print(live_view(picture), "")


class JsonLines:
    """One JSON document a line, as soon as it is known."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, picture: Picture) -> None:
        print(json.dumps(live_json(picture), ensure_ascii=False), flush=True)
