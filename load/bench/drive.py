"""The load generators: wrk for the greatest load, pace for a constant rate and exact numbers."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from testbed.processes import end_with_parent
from testbed.programs import Failed, run

SCRIPT = Path(__file__).with_name("load.lua")


@dataclass(frozen=True)
class Load:
    """The outcome of a load; latencies in microseconds."""

    answered: int
    seconds: float
    p50: float
    p99: float
    p999: float
    max: float
    errors: int
    refused: int
    unseen: int = 0
    """The responses that the server may have sent and the generator did not count."""
    statuses: dict[str, int] = field(default_factory=dict)
    by_status: dict[str, dict[str, float]] = field(default_factory=dict)
    """p50, p99, p999 and so on of the responses of each status; by pace."""
    histogram: dict[str, int] = field(default_factory=dict)
    """The number of responses by latency, to two digits; by pace."""

    @property
    def rate(self) -> float:
        """Responses per second."""
        return self.answered / self.seconds

    def tail(self) -> dict[str, float]:
        """The latencies of the slow responses, in milliseconds."""
        return tail({"p99": self.p99, "p999": self.p999, "max": self.max})

    def shown_tail(self) -> str:
        """The same for people."""
        return ", ".join(f"{name} {latency:.3g}" if latency < 1_000 else f"{name} {latency:.0f}"
                         for name, latency in self.tail().items()) + " ms"


def tail(latencies: dict[str, float]) -> dict[str, float]:
    """The slow ones of the latencies that pace reports, in milliseconds."""
    return {"p99": latencies["p99"] / 1000, "p99.9": latencies["p999"] / 1000, "slowest": latencies["max"] / 1000}


def all_of(loads: list[Load]) -> Load:
    """Several loads of pace together, with latencies to two digits."""
    counts: Counter[int] = Counter()
    for load in loads:
        counts.update({int(latency): count for latency, count in load.histogram.items()})
    rising = sorted(counts.items())

    def below(share: float) -> float:
        faster = counts.total() * share
        for latency, count in rising:
            faster -= count
            if faster < 0:
                return float(latency)
        return 0.0

    return Load(sum(load.answered for load in loads), sum(load.seconds for load in loads), below(0.5), below(0.99), below(0.999),
                max(load.max for load in loads), sum(load.errors for load in loads), sum(load.refused for load in loads),
                histogram={str(latency): count for latency, count in rising})


@dataclass(frozen=True)
class Generators:
    """The load generators."""

    wrk: Path
    pace: Path
    awake: bool = False
    """Whether pace has a core to itself and never sleeps there, as waking it would cost the server time."""
    core: int | None = None
    """The core of pace, where it is not that of the load."""

    def full(self, port: int, paths: Path, connections: int, seconds: float, skip: int = 0,
             headers: tuple[str, ...] = (), visitors: Path | None = None) -> Load:
        """Full speed: every connection sends its next request as soon as it has a response. At the end wrk closes
        connections with a request under way, so up to one response each is not counted."""
        sent = [part for header in headers for part in ("-H", header)]
        beside = [visitors] if visitors else []
        output = run([self.wrk, *sent, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency",
                      "--timeout", "10s", "-s", SCRIPT, f"http://127.0.0.1:{port}", "--", paths, str(skip),
                      *beside],
                     seconds=seconds + 120)
        found = [line for line in output.splitlines() if line.startswith("JSON ")]
        if not found:
            raise Failed(f"wrk said: {output}")
        outcome = json.loads(found[0].removeprefix("JSON "))
        return Load(outcome["answered"], outcome["seconds"], outcome["p50"], outcome["p99"], outcome["p999"], outcome["max"],
                    outcome["broken"], outcome["refused"], unseen=connections)

    def start_pace(
        self,
        port: int,
        paths: Path,
        connections: int,
        *,
        seconds: float = 5.0,
        rate: float | None = None,
        requests: int | None = None,
        skip: int = 0,
        method: str = "GET",
        headers: tuple[str, ...] = (),
        body: str = "",
        drain: float = 10.0,
        visitors: Path | None = None,
        by_second: Path | None = None,
    ) -> Pace:
        """Starts pace: `rate` requests a second, timed from the moment when each was due, or without a rate at full
        speed; for some seconds or until `requests` are answered. The latencies of each second are written to `by_second`."""
        command: list[str | Path | int | float] = [] if self.core is None else ["taskset", "-c", self.core]
        command += [
            self.pace, "--address", f"127.0.0.1:{port}", "--paths", paths, "--connections", connections,
            "--seconds", seconds, "--skip", skip, "--method", method, "--body", body, "--drain", drain]
        command += ["--visitors", visitors] if visitors else []
        command += ["--by-second", by_second] if by_second else []
        command += ["--awake"] if self.awake else []
        command += ["--rate", rate] if rate is not None else []
        command += ["--requests", requests] if requests is not None else []
        for header in headers:
            command += ["--header", header]
        limit = (3600.0 if requests is not None else seconds) + drain + 60
        return Pace([str(part) for part in command], limit)

    def paced(self, port: int, paths: Path, connections: int, **options: object) -> Load:
        """Runs pace to its end, with the options of `start_pace`."""
        return self.start_pace(port, paths, connections, **options).result()  # type: ignore[arg-type]


class Pace:
    """A running pace."""

    def __init__(self, command: list[str], limit: float) -> None:
        self.limit = limit
        self.output: tuple[str, str] | None = None
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env={"PATH": os.defpath}, preexec_fn=end_with_parent)

    def ends_within(self, seconds: float) -> bool:
        """Waits for the end, but no longer than this. The output is read meanwhile: pace waits until it is."""
        try:
            self.output = self.popen.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def result(self) -> Load:
        """Waits for the end."""
        try:
            if self.output is None:
                self.output = self.popen.communicate(timeout=self.limit)
        finally:
            self.popen.kill()
        output, errors = self.output
        if self.popen.returncode != 0:
            raise Failed(f"pace: {errors.strip()}")
        outcome = json.loads(output)
        refused = sum(n for status, n in outcome["statuses"].items() if status >= "400")
        return Load(outcome["answered"], outcome["seconds"], outcome["p50"], outcome["p99"], outcome["p999"], outcome["max"],
                    outcome["failed"] + outcome["unanswered"], refused, statuses=outcome["statuses"],
                    by_status=outcome["by_status"], histogram=outcome["histogram"])
