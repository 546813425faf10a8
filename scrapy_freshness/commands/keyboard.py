"""Keys, one by one and without Enter, where the terminal can do that."""

import os
import select
import time
from types import TracebackType
from typing import Any, Self, TextIO

try:
    import termios
    import tty
except ImportError:  # Windows: Ctrl-C is left
    termios = None  # type: ignore[assignment]


class Keyboard:
    """Reads keys of a terminal inside a `with` block; of anything else it reads nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._file = stream.fileno() if termios is not None and stream.isatty() else None
        self._before: Any = None  #: how the terminal was set

    def __enter__(self) -> Self:
        if self._file is not None:
            self._before = termios.tcgetattr(self._file)
            tty.setcbreak(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def pressed(self, seconds: float) -> str:
        """Wait for a key, at most so long; empty if there was none."""
        if self._file is None:
            time.sleep(seconds)
            return ""
        if not select.select([self._file], [], [], seconds)[0]:
            return ""
        return os.read(self._file, 1).decode("latin-1") or "\x04"  # nothing to read: the terminal is gone
