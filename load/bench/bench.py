"""One load on one contender: driven, accounted, and its clicks checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from testbed.programs import Failed

from .contenders import Running
from .counting import Count
from .drive import Generators, Load
from .pinned import say
from .results import Results, Sample


@dataclass
class Bench:
    """The parts that all loads of a run share."""

    generators: Generators
    results: Results
    seconds: float
    connections: list[int]
    known: list[str]
    every: Path
    """Paths of all codes, each once."""
    draws: dict[str, Path]
    folder: Path
    visitors: Path
    """Agents and referrers, in the order in which they come."""
    sustained: float
    """For how many seconds shunt is loaded fully before its half load."""
    k6: Path | None = None
    """Where pace is checked against it."""
    extras: set[str] = field(default_factory=set)
    greatest: dict[tuple[str, int], float] = field(default_factory=dict)
    """Redirects per second by contender and connections, of the newest round."""

    def count(self, running: Running) -> Count | None:
        """The check of the clicks, for contenders that count."""
        return Count(running.api) if running.api else None

    def verify(self, count: Count | None, *loads: Load) -> None:
        """Fails unless the clicks equal the responses."""
        if count:
            count.check(*loads)
            self.results.checks += 1

    def warm(self, running: Running, count: Count | None) -> None:
        """Requests every code once; all must be known. The number of requests is exact, so the check is, too."""
        load = self.generators.paced(running.port, self.every, 64, requests=len(self.known))
        if load.statuses != {"302": len(self.known)} or load.errors:
            raise Failed(f"warming up brought {load.statuses} and {load.errors} errors"
                         f" instead of {len(self.known)} redirects")
        self.verify(count, load)

    def full(self, name: str, case: str, paths: Path, connections: int, running: Running,
             count: Count | None, number: int = 0, headers: tuple[str, ...] = (),
             visitors: Path | None = None) -> Sample:
        """Full speed, by wrk."""
        skip = number * 77_773
        before = running.cpu()
        load = self.generators.full(running.port, paths, connections, self.seconds, skip, headers, visitors)
        sample = self.note(name, case, connections, load, before, running.cpu())
        self.verify(count, load)
        if case == "uniform":
            self.greatest[name, connections] = sample.rate
        return sample

    def sustain(self, name: str, connections: int, running: Running, count: Count) -> None:
        """Full speed for minutes. Its last third is what is sustained: a burst leaves its write-back for later."""
        third = self.sustained / 3
        for number in range(3):
            load = self.generators.full(running.port, self.draws["uniform"], connections, third, skip=number * 77_773)
            self.verify(count, load)
            waiting = f", {running.backlog()} batches wait" if running.backlog else ""
            say(f"  sustained, {connections} connections: {load.rate:.0f}/s{waiting}")
        self.greatest[name, connections] = load.rate
        self.results.figure(f"{name}, {connections} connections: redirects/s that are sustained", load.rate)

    def half(self, name: str, connections: int) -> float:
        """Half of the load of the newest round, in redirects per second: of the sustained one, where it was measured."""
        return self.greatest[name, connections] / 2

    def note(self, name: str, case: str, connections: int, load: Load, before: dict[str, float],
             after: dict[str, float]) -> Sample:
        """Keeps the outcome of a load."""
        def per_answer(server: str) -> float | None:
            return (after[server] - before[server]) / load.answered * 1e6 if server in after else None

        if not load.answered:
            raise Failed(f"{name} answered nothing ({case}, {connections} connections)")
        sample = Sample(name, case, connections, load.rate, load.p50, load.p99, load.p999, load.max, load.errors,
                        load.answered, per_answer("server") or 0.0, per_answer("redis"),
                        per_answer("postgres"))
        self.results.samples.append(sample)
        say(f"  {case}, {connections} connections: {sample.cpu:.2f} us CPU, {sample.rate:.0f}/s,"
            f" p50 {sample.p50:.0f} us, {load.shown_tail()}, {sample.errors} errors")
        return sample
