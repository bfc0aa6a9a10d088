"""Programs of this machine: finding, installing, running, starting and stopping them."""

from __future__ import annotations

import ctypes
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = {"initdb": "postgresql", "redis-server": "redis-server", "nginx": "nginx",
            "prometheus": "prometheus"}


class Failed(Exception):
    """Ends the run; the text says why."""


def find(tool: str) -> str | None:
    """The path of a program; those of Postgres and nginx are often not in PATH."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    path = os.pathsep.join([*folders, os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    return shutil.which(tool, path=path)


def need(tool: str) -> str:
    """The path of a program that is there."""
    path = find(tool)
    if path is None:
        raise Failed(f"{tool} cannot be found")
    return path


def install_missing() -> None:
    """Installs what is missing, or says in one line what to install."""
    missing = sorted({package for tool, package in PACKAGES.items() if find(tool) is None})
    if not missing:
        return
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    may = find("apt-get") and (not root or succeeds([*root, "true"]))
    if not may:
        raise Failed("please install: " + " ".join(missing))
    print("installing " + " ".join(missing), flush=True)
    environment = [*root, "env", "DEBIAN_FRONTEND=noninteractive"]
    run([*environment, "apt-get", "update", "-qq"])
    run([*environment, "apt-get", "install", "-y", "-qq", *missing])


def succeeds(command: Sequence[str]) -> bool:
    """Whether a command can be run and does."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run(command: Sequence[str], user: str | None = None, folder: Path | None = None) -> str:
    """Runs a command to its end; its output is shown only if it fails."""
    done = subprocess.run(command, user=user, group=user, extra_groups=[] if user else None, cwd=folder,
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failed(f"{Path(command[0]).name} failed: {done.stdout.strip()}")
    return done.stdout


def free_port() -> int:
    """A port that nobody listens on; none that the system gives to clients: one would have it when a server that was
    ended is started again."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


def end_with_parent() -> None:
    """For a child process: ends with this one, even if this one is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def wait_for(what: str, holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.05)


@dataclass
class Server:
    """A process that stays."""

    name: str
    command: list[str]
    log: Path
    port: int
    stop_signal: signal.Signals = signal.SIGTERM
    user: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; Ctrl-C does not reach it, so that all is taken down in order."""
        # Not the whole environment: a DATABASE_URL of the person who calls is not meant.
        environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", **self.environment}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.log.parent,
                env=environment, user=self.user, group=self.user,
                extra_groups=[] if self.user else None, start_new_session=True,
                preexec_fn=end_with_parent)

    def accepts(self) -> bool:
        """Whether it takes connections; fails at once if it has ended."""
        if self.has_ended():
            raise Failed(f"{self.name} ended:\n{self.last_words()}")
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def has_ended(self) -> bool:
        """Whether it ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def stop(self, seconds: float = 45.0) -> int:
        """Stops it in its own way; its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(f"{self.name} did not stop within {seconds:.0f} s") from None

    def last_words(self) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
