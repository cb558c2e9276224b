"""The inside of a worker process: takes points from a pipe and sends values back."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeAlias

from cbo._evaluate_values import as_value, as_values

Message: TypeAlias = tuple[Literal["hello", "ready", "unloadable", "value", "refused", "raised"], Any]
"""What a worker says: its kind and its content."""


class RemoteTraceback(Exception):
    """The traceback of an exception in a worker process, shown as the cause of that exception here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def serve(pipe: Connection) -> None:
    """Evaluates what comes through the pipe until it is closed."""
    _leave_the_group(pipe)
    pipe.send(("hello", None))
    try:
        try:
            fun, args, vectorized = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        except Exception:
            pipe.send(("unloadable", traceback.format_exc()))
            return
        pipe.send(("ready", None))
        check = as_values if vectorized else as_value
        while True:
            try:
                x = pipe.recv()
            except EOFError:
                return
            # Everything is passed on, SystemExit too: it then ends the caller, as it does without workers.
            try:
                returned = fun(x, *args)
            except BaseException as error:
                pipe.send(("raised", (_portable(error), traceback.format_exc())))
                continue
            try:
                answer: Message = ("value", check(returned, x))
            except (TypeError, ValueError) as error:
                answer = ("refused", error)
            pipe.send(answer)
    except BrokenPipeError:
        pass  # The caller has gone, so there is nobody to tell.


def _leave_the_group(pipe: Connection) -> None:
    """Makes this process the head of a group that ends as a whole, and that ends when the caller does.

    A program that `fun` started is in the group, so that it does not outlive a worker that is killed. Ctrl-C
    in a terminal reaches the caller only, which then ends the workers.
    """
    if os.name == "posix":
        os.set_inheritable(pipe.fileno(), False)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_the_caller, daemon=True).start()


def _end_with_the_caller() -> None:
    caller = multiprocessing.parent_process()
    if caller is None:
        return
    caller.join()
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _portable(error: BaseException) -> BaseException:
    """The exception itself if it survives pickling, otherwise one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__qualname__}: {error}")
    return error
