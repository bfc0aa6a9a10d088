"""A testbed that pins servers to cores, and progress on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from signal import SIGTERM

from testbed.processes import Process, Testbed
from testbed.programs import Command, Failed

BEGIN = time.monotonic()


def say(text: str) -> None:
    """Prints the progress of the run."""
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


class PinnedTestbed(Testbed):
    """One core is for the measured server, another one for the load and everything else."""

    def __init__(self, server_core: int, load_core: int, database_nice: int = 0) -> None:
        available = os.sched_getaffinity(0)
        if not {server_core, load_core} <= available or server_core == load_core:
            raise Failed(f"two cores are needed; of {sorted(available)}, "
                         f"{server_core} (server) and {load_core} (load) were asked for")
        super().__init__()
        self.server_core = server_core
        self.load_core = load_core
        # A database has a core of its own where there is a third one.
        spare = sorted(available - {server_core, load_core})
        self.database_core = spare[0] if spare else load_core
        self.database_nice = database_nice

    def settle(self) -> None:
        """Moves this process, and all that it starts later, to the core of the load."""
        os.sched_setaffinity(0, {self.load_core})

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
        """Starts a server, on the core of the load where no other is given."""
        return super().start(name, command, port, environment=environment, user=user, stop_signal=stop_signal,
                             core=self.load_core if core is None else core, nice=nice)
