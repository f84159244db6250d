"""The progress of Dask's local schedulers, task by task."""

from contextlib import AbstractContextManager, ExitStack
from typing import Any

from dask.callbacks import Callback

from ...progress import Report, tracked


class _Tasks(Callback):  # type: ignore[misc]
    """Reports the finished tasks of each computation; several threads may run one."""

    def __init__(self) -> None:
        super().__init__()
        self.running: dict[int, tuple[ExitStack, Report | None]] = {}

    def _start_state(self, dsk: Any, state: Any) -> None:
        total, stack = sum(len(state[key]) for key in ("ready", "waiting", "running", "finished")), ExitStack()
        self.running[id(state)] = stack, stack.enter_context(tracked("compute", total))

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
        _, report = self.running[id(state)]
        if report is not None:
            report(len(state["finished"]))

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        stack, _ = self.running.pop(id(state))
        stack.close()


def computing(*, xp: Any = None) -> AbstractContextManager[None]:
    found: AbstractContextManager[None] = _Tasks()
    return found
