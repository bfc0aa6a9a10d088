"""A temporary folder and the servers that run in it, all of which end with the run."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from .programs import Command, Failed

STOP_TIMEOUT = 180.0
"""Seconds for a server to stop, more than any setting allows for writing clicks back."""
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def free_port() -> int:
    """A free port outside the range for outgoing connections, so that it is still free when its server is started
    again."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


def accepts(port: int) -> bool:
    """Whether a server listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(what: str, holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"{what}: not after {seconds:.0f} s")
        time.sleep(0.02)


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Makes the kernel send a signal to this process when its parent ends; for the start of a child."""
    LIBC.prctl(PR_SET_PDEATHSIG, number)


@dataclass(eq=False)
class Process:
    """A server on one port of this machine; it can be stopped and started again."""

    name: str
    command: list[str]
    log: Path
    port: int
    environment: dict[str, str]
    """Its only variables beside PATH and LANG, so that a DATABASE_URL of the caller's shell has no effect."""
    user: str | None = None
    stop_signal: int = signal.SIGTERM
    core: int | None = None
    """The one core that it may use; `None` for all."""
    nice: int = 0
    popen: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Starts it in a session of its own, so that Ctrl-C reaches it in the order of the shutdown only."""
        def prepare() -> None:
            if self.core is not None:
                os.sched_setaffinity(0, {self.core})
            os.nice(self.nice)
            end_with_parent(self.stop_signal)

        own = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=own | self.environment,
                cwd=self.log.parent,
                start_new_session=True,
                preexec_fn=prepare,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
            )

    @property
    def pid(self) -> int:
        """The process's id; it has to be started."""
        assert self.popen
        return self.popen.pid

    def check(self) -> None:
        """Fails if the process has ended by itself."""
        if self.popen and self.popen.poll() is not None:
            raise Failed(f"{self.name} ended with code {self.popen.returncode}:\n{self.last_lines()}")

    def listens(self) -> bool:
        """Whether it takes connections; fails if it has ended."""
        self.check()
        return accepts(self.port)

    def wait_until_listening(self) -> None:
        """Waits until it takes connections."""
        wait_for(f"{self.name} listens", self.listens)

    def stop(self, hard: bool = False, seconds: float = STOP_TIMEOUT) -> int:
        """Stops it by its own signal, or with `hard` by SIGKILL; returns its exit code."""
        if self.popen is None:
            return 0
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL if hard else self.stop_signal)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise Failed(f"{self.name} did not stop within {seconds:.0f} s") from None
        finally:
            # Ends children that a killed parent left behind.
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)

    def last_lines(self) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


class Testbed:
    """A temporary folder and the processes that run in it; to be used with `with`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shunt-"))
        # Where this runs as root, Postgres and nginx's workers run as other users, which need access.
        self.folder.chmod(0o711)
        self.processes: list[Process] = []

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, interrupted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for process in reversed(self.processes):
            try:
                process.stop()
            except Failed as failure:
                print(failure, file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(
        self,
        name: str,
        command: Command,
        port: int,
        *,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        stop_signal: int = signal.SIGTERM,
        core: int | None = None,
        nice: int = 0,
    ) -> Process:
        """Starts a server in a folder of its own below that of the testbed, which also has its log."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        log = folder / f"{len(list(folder.glob('*.log')))}.log"
        process = Process(name, [str(part) for part in command], log, port, dict(environment or {}), user, stop_signal,
                          core, nice)
        process.start()
        self.processes.append(process)
        return process

    def stop(self, process: Process, hard: bool = False) -> int:
        """Stops a server before the run ends; returns its exit code."""
        self.processes.remove(process)
        return process.stop(hard)


def interrupted(number: int, frame: object) -> None:
    """Turns a signal into an orderly end."""
    del frame
    raise SystemExit(128 + number)
