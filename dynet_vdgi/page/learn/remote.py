"""An object in another process, whose methods are called by their names.

In time:

    the program, in a thread              the process
    ------------------------              -----------
    Remote(TagLessons, path)     ---->    lessons = TagLessons(path)
    call("learn", text, ids)     ---->    lessons.learn(text, ids)
    returns the lesson           <----    a moment or some minutes later

If the process is killed, another one starts with the same arguments and does the call once more. A
process ends with the program, whatever ends that.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from dynet_vdgi.errors import VdgiError
from dynet_vdgi.system.signals import end_with_parent

logger = logging.getLogger("dynet_vdgi")


class LearningError(VdgiError):
    """A process failed or ended unexpectedly; only learning stops."""


class Remote:
    """The object that `make` returns for the arguments, in a process of its own.

    Several threads may call; they come one after the other.
    """

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self._one_call, self._start_or_stop = threading.Lock(), threading.Lock()
        self._is_stopped = False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        with self._start_or_stop:
            if self._is_stopped:
                raise LearningError("the process that learns has ended")
            pipe, far_end = context.Pipe()
            arguments = far_end, self._make, self._arguments
            process = context.Process(target=_serve, args=arguments, daemon=True)
            try:
                process.start()
            except OSError as error:  # out of memory, or of processes
                raise LearningError(f"no process can be started: {error}") from None
            far_end.close()
            self._pipe, self._process = pipe, process

    def call(self, method: str, *content: Any) -> Any:
        """Waits for what the method returns.

        Raises: LearningError, the method failed, or its process ended twice.
        """
        with self._one_call:
            reply = self._reply(method, content)
            if reply is None:  # killed, or out of memory
                self._start()
                logger.warning("the process that learns died; another one does its work")
                reply = self._reply(method, content)
        if reply is None:
            raise LearningError("the process that learns has ended")
        returned, error = reply
        if error is not None:
            raise LearningError(error)
        return returned

    def _reply(self, *question: Any) -> tuple[Any, str | None] | None:
        """What the method returned, and its error; None: the process has ended."""
        try:
            self._pipe.send(question)
            return self._pipe.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        """Ends the process at once, whatever it does; no other one starts."""
        with self._start_or_stop:
            self._is_stopped = True
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Replies to each call with what the method returns, or an error, until the program ends."""
    _begin()
    target = make(*arguments)
    reply: tuple[Any, str | None]
    with suppress(EOFError, OSError):  # the program has ended
        while True:
            method, content = pipe.recv()
            try:
                reply = getattr(target, method)(*content), None
            except Exception as error:  # the page reports it
                reply = None, f"{type(error).__name__}: {error}"
            pipe.send(reply)


def _begin() -> None:
    for name in ("SIGINT", "SIGHUP"):  # a terminal's, for the program, which ends this process
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    end_with_parent()  # otherwise the end would be noticed only after the call
    logging.getLogger("dynet_vdgi").setLevel(logging.ERROR)
