"""Connections to the page's server: idle and slow ones are closed, so that they keep nobody out.

uvicorn limits how long a connection may be idle after an answer, but not how long a request may
take to arrive, nor how many connections may be open, of which a process has some hundreds.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 30.0
"""In which a request must have arrived, with its body."""

MOST = 400
"""Open connections; fewer where the process may have fewer than 1,200 files open."""

QUEUE = 1000
"""Connections that the system keeps until they are accepted."""


def most_connections() -> int:
    """How many connections may be open, a third of what the system allows this process at most."""
    if sys.platform == "win32":
        return MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(4, min(MOST, soft // 3))


class Connection(H11Protocol):
    """A connection that is closed where its request does not arrive in time, or to make room for
    another."""

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether no request has arrived completely that is still to be answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > most_connections():
            waiting = [
                each
                for each in self.connections
                if isinstance(each, Connection) and each.is_waiting
            ]
            min(waiting, key=lambda each: each._since)._end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.is_waiting:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._since = self.loop.time()
        self._timer = self.loop.call_later(SECONDS, self._end)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()
