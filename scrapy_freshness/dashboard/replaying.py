"""A replay in the background: in a process of its own, which gives way to the crawl, one at a time."""

import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from scrapy_freshness.config import Config
from scrapy_freshness.errors import FreshnessError
from scrapy_freshness.insight.own_history import Question, Trial, tried
from scrapy_freshness.storage.store import Store

#: By so much the process gives way to others.
_NICE = 10
#: Progress is told in steps of this share.
_STEP = 0.005


@dataclass(slots=True)
class Replaying:
    """One replay, under way or over."""

    question: Question
    progress: float = 0.0
    trial: Trial | None = None
    trouble: str | None = None
    process: BaseProcess | None = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet."""
        return self.trial is None and self.trouble is None


class Replays:
    """Starts replays, and keeps the last one of each spider."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._last: dict[str, Replaying] = {}

    def of(self, spider: str) -> Replaying | None:
        """The last replay of a spider's history."""
        return self._last.get(spider)

    @property
    def is_busy(self) -> bool:
        """Whether a replay is under way."""
        return any(each.is_running for each in self._last.values())

    def start(self, question: Question) -> bool:
        """Begin a replay; False if one is under way."""
        context = multiprocessing.get_context("spawn")
        with self._lock:
            if self.is_busy:
                return False
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(self._config, question, theirs), daemon=True)
            replaying = self._last[question.spider] = Replaying(question, process=process)
            process.start()
            theirs.close()
        threading.Thread(target=_follow, args=(replaying, ours), daemon=True).start()
        return True

    def stop(self, spider: str) -> None:
        """End the replay of a spider's history."""
        replaying = self._last.get(spider)
        if replaying is not None and replaying.is_running and replaying.process is not None:
            replaying.trouble = "It was stopped."
            replaying.process.terminate()

    def close(self) -> None:
        """End everything."""
        for spider in list(self._last):
            self.stop(spider)


def _follow(replaying: Replaying, news: Connection) -> None:
    """Take in what the process says until it ends."""
    try:
        while replaying.is_running:
            said = news.recv()
            if isinstance(said, float):
                replaying.progress = said
            elif isinstance(said, Trial):
                replaying.trial = said
            else:
                replaying.trouble = str(said)
    except EOFError:
        replaying.trouble = replaying.trouble or "The process that replays has ended before its time."
    finally:
        news.close()
        if replaying.process is not None:
            replaying.process.join()


def _work(config: Config, question: Question, news: Connection) -> None:
    """What the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the dashboard, which ends this process
    os.nice(_NICE)
    told = 0.0

    def progress(done: float) -> None:
        nonlocal told
        if done >= told + _STEP:
            told = done
            news.send(done)

    try:
        with Store.open_readonly(config.database_url) as store:
            news.send(tried(store, config, question, progress))
    except FreshnessError as error:
        news.send(str(error))
