"""What an instance says of itself, in its log and metrics: by this alone a documented exception is recognised."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from .client import Client, Cut, NotSent

SLACK = 0.5
"""Seconds within which a line of the log is read here after it was written, on a busy machine."""

EXACT = 0.03
"""Seconds between a change of state and its line, whose time is known."""

AWAY = re.compile(r'Redis is away(?::| again) ?.*?data_set="?([^"\s]*)')
UP = re.compile(r'Redis is up.*?data_set="?([^"\s]*)')
STARTED_WITHOUT = "clicks go to the database until it is there"
ANNOUNCED_LATE = "is announced to other instances later"
LATE_JOURNAL = ("the journal cannot be reached", "could not be written to the journal",
                "the journal did not respond in time", "writing to the journal failed")
"""At level debug: the sinks were late, so answered clicks may be in memory alone from now on."""
PANIC = "panicked"

MEMORY_ONLY = "shunt_clicks_memory_only"
DATA_LOST = ("shunt_redis_data_lost_total", "shunt_redis_rolled_back_total", "shunt_redis_data_lost_total",
             "shunt_redis_rolled_back_total")
DROPPED = "shunt_clicks_in_doubt_dropped_total"
SAMPLE = re.compile(r"^(\w+)(?:\{[^}]*\})? ([-+.\deE]+|NaN|[+-]Inf)$", re.MULTILINE)


UNNAMED = "any"
"""The data set of an instance that has named none yet."""


def moment_of(line: str) -> float | None:
    """When a line was written, by the clock of `time.monotonic`; `None` if it does not say."""
    try:
        written = datetime.fromisoformat(line.split(" ", 1)[0])
    except ValueError:
        return None
    return written.timestamp() - time.time() + time.monotonic()


@dataclass
class Span:
    """Some time; open while `end` is `None`."""

    begin: float
    end: float | None = None

    def meets(self, begin: float, end: float) -> bool:
        """Whether it has a moment in common with another."""
        return self.begin <= end and (self.end is None or self.end >= begin)


@dataclass
class Evidence:
    """The testimony of one instance, over all its runs."""

    log: Path
    port: int
    position: int = 0
    away: dict[str, list[Span]] = field(default_factory=dict)
    """For each data set of Redis, when this instance considered it away."""
    at_risk: list[Span] = field(default_factory=list)
    """When answered clicks may have been in its memory alone."""
    announced_late: list[float] = field(default_factory=list)
    panics: list[str] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    """Its newest metrics; those with labels are summed."""
    sampled: float = 0.0
    """When these were asked for."""
    ended_runs: dict[str, float] = field(default_factory=dict)
    """Sums of its counters over earlier runs of the process."""

    def started(self) -> None:
        """A new run of the process: Redis is away for it until it says otherwise."""
        self.ended()
        for spans in self.away.values():
            spans.append(Span(time.monotonic()))
        if not self.away:
            self.away[UNNAMED] = [Span(time.monotonic())]

    def ended(self) -> None:
        """The run of the process is over, and what was in its memory is gone."""
        self.read_log()
        now = time.monotonic()
        for spans in [*self.away.values(), self.at_risk]:
            for span in spans:
                span.end = span.end or now
        for name in (*DATA_LOST, DROPPED):
            self.ended_runs[name] = self.counter(name)
        self.metrics = {}

    def counter(self, name: str) -> float:
        """A counter, summed over all runs."""
        return self.ended_runs.get(name, 0.0) + self.metrics.get(name, 0.0)

    def read_log(self) -> None:
        """Reads the lines that are new."""
        if not self.log.exists():
            return
        with self.log.open("rb") as log:
            log.seek(self.position)
            text = log.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.position += len(whole)
        now = time.monotonic()
        for line in whole.decode(errors="replace").splitlines():
            self.note(line, now)

    def note(self, line: str, now: float) -> None:
        """Notes what a line says."""
        written = moment_of(line)
        # A time that is far from now is that of a clock that was set.
        is_right = written is not None and abs(now - written) < 5
        earliest, latest = (written - EXACT, written + EXACT) if written and is_right else (now - SLACK, now)
        if match := AWAY.search(line):
            self.away.setdefault(match[1], []).append(Span(earliest))
        elif match := UP.search(line):
            # The name of the data set is not known before its first line.
            for tag in (match[1], *([UNNAMED] if match[1] not in self.away else [])):
                for span in self.away.setdefault(tag, []):
                    span.end = span.end or latest
        elif ANNOUNCED_LATE in line:
            self.announced_late.append(now)
        elif any(text in line for text in LATE_JOURNAL):
            self.put_at_risk(now - 2 * SLACK)
        elif PANIC in line:
            self.panics.append(line)

    def put_at_risk(self, since: float) -> None:
        """Clicks may be in memory alone since then."""
        if not self.at_risk or self.at_risk[-1].end is not None:
            self.at_risk.append(Span(since))

    async def sample(self, timeout: float = 2.0) -> bool:
        """Reads the metrics; `False` without a response."""
        asked = time.monotonic()
        client = Client(self.port, timeout)
        try:
            response = await client.ask("GET", "/metrics")
        except (Cut, NotSent):
            return False
        finally:
            client.close()
        if response.status != 200:
            return False
        metrics: dict[str, float] = {}
        for match in SAMPLE.finditer(response.body.decode()):
            metrics[match[1]] = metrics.get(match[1], 0.0) + float(match[2])
        self.read_log()
        if metrics.get(MEMORY_ONLY, 0.0) > 0:
            self.put_at_risk(self.sampled or asked - 2.0)
        elif self.at_risk and self.at_risk[-1].end is None and self.at_risk[-1].begin + 2 * SLACK < asked:
            self.at_risk[-1].end = time.monotonic()
        self.metrics, self.sampled = metrics, asked
        return True

    def redis_was_away(self, begin: float, end: float) -> bool:
        """Whether it considered any data set of Redis away at some moment between these."""
        return any(span.meets(begin, end) for spans in self.away.values() for span in spans)

    def has_redis_back(self, begin: float, end: float) -> bool:
        """Whether it considered a data set away after the first moment, and used it again before the second one."""
        return any(span.end is not None and begin < span.end < end for spans in self.away.values() for span in spans)

    def risk_since(self, begin: float, end: float) -> float | None:
        """Since when clicks may have been in its memory alone at some moment between these; `None` if they were not."""
        found = [span.begin for span in self.at_risk if span.meets(begin, end)]
        return min(found) if found else None


def total(testimonies: Iterable[Evidence], names: Iterable[str]) -> float:
    """The sum of counters over instances."""
    names = tuple(names)
    return sum(evidence.counter(name) for evidence in testimonies for name in names)
