"""Work in a thread whose result comes back to the reactor, whichever reactor runs."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

T = TypeVar("T")
P = ParamSpec("P")


def in_thread(executor: Executor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
    """Run *work* in the executor; the Deferred fires on the reactor's thread."""
    future = executor.submit(work, *args, **kwargs)
    if is_asyncio_available():
        return Deferred.fromFuture(asyncio.wrap_future(future))
    return _from_reactor_thread(future)


def _from_reactor_thread(future: Future[T]) -> Deferred[T]:
    from twisted.internet import reactor  # installed by Scrapy at run time, so never imported earlier

    result: Deferred[T] = Deferred()

    def deliver(done: Future[T]) -> None:
        error = done.exception()
        if error is None:
            reactor.callFromThread(result.callback, done.result())
        else:
            reactor.callFromThread(result.errback, error)

    future.add_done_callback(deliver)
    return result
