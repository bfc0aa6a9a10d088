"""Where a run happens: a temporary folder, the processes started in it, and progress on stderr.

Everything is undone when the run ends, whichever way it ends.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .accounting import Usage, usage

PATIENCE = 180.0
"""Seconds for a server to stop, more than any is given here to write back what it holds."""
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
BEGIN = time.monotonic()

Command = Sequence[str | Path | int | float]


class Failed(Exception):
    """The run cannot go on; the message is for the user."""


def say(text: str) -> None:
    """Tells the user what is being done."""
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 30.0) -> None:
    """Asks `ready` until it says yes."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Failed(f"{what}: not so after {seconds:.0f} s")
        time.sleep(0.02)


def accepts(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Has the kernel send a signal to this process when its parent ends; for the start of a child."""
    LIBC.prctl(PR_SET_PDEATHSIG, number)


@dataclass
class Process:
    """A server that was started here."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    stop_signal: int

    def usage(self) -> Usage:
        """CPU and memory of it and its children."""
        return usage(self.popen.pid)

    def complaints(self) -> list[str]:
        """Warnings and errors in its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if re.search(r"\b(WARN|ERROR)\b", line)]

    def check(self) -> None:
        """Fails if it has ended."""
        if self.popen.poll() is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise Failed(f"{self.name} ended with code {self.popen.returncode}:\n{tail}")

    def stop(self, hard: bool = False) -> None:
        """Ends it; by force when asked or when it takes too long."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL if hard else self.stop_signal)
            try:
                self.popen.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                say(f"{self.name} does not stop: killed")
                self.popen.kill()
                self.popen.wait(30)
        # Children that a killed parent left behind.
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)


class Workshop:
    """A temporary folder and the processes that run in it; to be used with `with`."""

    def __init__(self, server_core: int, load_core: int, database_nice: int = 0) -> None:
        available = os.sched_getaffinity(0)
        if not {server_core, load_core} <= available or server_core == load_core:
            raise Failed(f"two cores are needed; of {sorted(available)}, "
                         f"{server_core} (server) and {load_core} (load) were asked for")
        self.server_core = server_core
        self.load_core = load_core
        # A database has a core of its own where there is a third one.
        spare = sorted(available - {server_core, load_core})
        self.database_core = spare[0] if spare else load_core
        self.database_nice = database_nice
        self.folder = Path(tempfile.mkdtemp(prefix="shunt-load-"))
        self.folder.chmod(0o755)
        self.processes: list[Process] = []

    def __enter__(self) -> Workshop:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, interrupted)
        return self

    def settle(self) -> None:
        """Moves this process, and all it starts from now on, to the core of the load."""
        os.sched_setaffinity(0, {self.load_core})

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self.processes):
            process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(
        self,
        name: str,
        command: Command,
        *,
        core: int | None = None,
        nice: int = 0,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        stop_signal: int = signal.SIGTERM,
    ) -> Process:
        """Starts a server on a core; it dies with this process. It sees no environment but PATH and
        what is given."""
        log = self.folder / f"{name}.{len(list(self.folder.glob('*.log')))}.log"
        core = self.load_core if core is None else core

        def prepare() -> None:
            os.sched_setaffinity(0, {core})
            os.nice(nice)
            end_with_parent(stop_signal)

        with log.open("ab") as output:
            popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", os.defpath)} | dict(environment or {}),
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=prepare,
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        process = Process(name, popen, log, stop_signal)
        self.processes.append(process)
        return process

    def stop(self, process: Process, hard: bool = False) -> None:
        """Ends a server before the run does."""
        process.stop(hard)
        self.processes.remove(process)


def interrupted(number: int, frame: object) -> None:
    """Turns a signal into an orderly end."""
    del frame
    raise SystemExit(128 + number)


def run(
    command: Command,
    *,
    seconds: float = 600.0,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
) -> str:
    """Runs a command to its end and returns what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        input=text,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | dict(environment or {}),
        check=False,
        user=user,
        group=user,
        extra_groups=[] if user else None,
        cwd="/" if user else None,
    )
    if done.returncode != 0:
        raise Failed(f"{Path(words[0]).name} failed ({done.returncode}): "
                     f"{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
