"""Log-ins beside processes that only use the processor."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import SIGTERM
from statistics import median

from testbed.processes import Process, Testbed, end_with_parent
from testbed.programs import Command

from .api import PASSWORD, Api
from .backends import start_postgres, start_redis
from .contenders import Production
from .pinned import PinnedTestbed, say
from .results import Results

BUSY = 3
"""Processes beside the service, each of which would use a whole core."""
LOGINS = 20
"""Log-ins of a turn, one after the other, each on a connection of its own."""


class UnpinnedTestbed(PinnedTestbed):
    """All servers may use all cores."""

    def start(
        self,
        name: str,
        command: Command,
        port: int,
        *,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        stop_signal: int = SIGTERM,
        core: int | None = None,
        nice: int = 0,
    ) -> Process:
        """Starts a server on no certain core."""
        return Testbed.start(self, name, command, port, environment=environment, user=user, stop_signal=stop_signal,
                             nice=nice)


def logins(tools: dict[str, Path], programs: Path, results: Results, cores: tuple[int, int], rounds: int) -> None:
    """Log-ins alone and beside busy processes, in turns."""
    with UnpinnedTestbed(*cores) as testbed:
        shunt = Production(testbed, tools, programs, [], redis=start_redis(testbed, tools),
                           postgres=start_postgres(testbed, tools))
        shunt.prepare()
        with shunt.running() as running:
            assert running.api
            for number in range(rounds):
                say(f"log-ins: round {number + 1} of {rounds}")
                note(results, "alone", turn(running.api))
                with busy_processes():
                    note(results, f"beside {BUSY} busy processes", turn(running.api))
    results.judge(f"log-in beside {BUSY} busy processes: median", f"log-in beside {BUSY} busy processes: median, ms",
                  1_000, None, "ms", digits=0)


def turn(api: Api) -> list[float]:
    """Milliseconds that each log-in took."""
    took = []
    for _ in range(LOGINS):
        begin = time.monotonic()
        api.ask("POST", "/auth/login", {"email": "load@example.com", "password": PASSWORD})
        took.append((time.monotonic() - begin) * 1000)
    return took


def note(results: Results, name: str, took: list[float]) -> None:
    """The median and the slowest of a turn."""
    say(f"  {name}: {json.dumps([round(each) for each in took])}")
    results.figure(f"log-in {name}: median, ms", median(took))
    results.figure(f"log-in {name}: slowest, ms", max(took))


@contextmanager
def busy_processes() -> Iterator[None]:
    """Processes of the usual priority that only compute."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=end_with_parent)
               for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
