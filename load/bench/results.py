"""Tables, verdicts and the files they are written to."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from statistics import median

from testbed.programs import Failed

from .drive import Load
from .tools import LOAD, target_folder

RESULTS = LOAD / "results"


def figure(name: str, file: str) -> float:
    """The median of a figure in a file of load/results."""
    found = re.search(rf"^{re.escape(name)} {{2,}}(\S+) ", (RESULTS / f"{file}.txt").read_text(), re.MULTILINE)
    if not found:
        raise Failed(f"load/results/{file}.txt has no figure {name!r}")
    return float(found.group(1))


@dataclass
class Sample:
    """One contender under one load in one round; CPU in microseconds per response."""

    contender: str
    case: str
    connections: int
    rate: float
    p50: float
    p99: float
    p999: float
    max: float
    errors: int
    answered: int
    cpu: float
    redis: float | None = None
    postgres: float | None = None


@dataclass
class Verdict:
    """A bar, the measured figure, and whether it met the bar."""

    case: str
    bar: str
    aim: str
    measured: str
    met: bool | None
    """`None` where it was not measured."""
    reached: bool | None = None
    """Whether the aim was reached; `None` where there is none."""


@dataclass
class Results:
    """All results of a run."""

    title: str
    facts: dict[str, str]
    notes: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    figures: dict[str, list[float]] = field(default_factory=dict)
    """Other figures by name: one or more for each round."""
    verdicts: list[Verdict] = field(default_factory=list)
    checks: int = 0
    """How often clicks were compared with responses."""

    def figure(self, name: str, value: float) -> None:
        """Adds a figure of this round."""
        self.figures.setdefault(name, []).append(value)

    def tail(self, name: str, load: Load) -> None:
        """Adds the latencies of the slow responses of a load of this round."""
        for which, latency in load.tail().items():
            self.figure(f"{name}: {which}, ms", latency)

    def middle(self, name: str) -> float | None:
        """The median of a figure over the rounds."""
        values = self.figures.get(name)
        return median(values) if values else None

    def of(self, contender: str, case: str, connections: int) -> Sample | None:
        """The medians over the rounds of a contender under a load."""
        samples = [sample for sample in self.samples if
                   (sample.contender, sample.case, sample.connections) == (contender, case, connections)]
        return combine(samples) if samples else None

    def judge(self, case: str, name: str, bar: float, aim: float | None, unit: str, *,
              least: bool = False, digits: int = 2) -> None:
        """Compares the median of a figure with its bar: at most, or with `least` at least."""
        value = self.middle(name)
        sign = ">=" if least else "<="

        def holds(limit: float | None) -> bool | None:
            if value is None or limit is None:
                return None
            return value >= limit if least else value <= limit

        self.verdicts.append(Verdict(
            case, f"{sign} {bar:g} {unit}", "" if aim is None else f"{sign} {aim:g} {unit}",
            "not measured" if value is None else f"{value:.{digits}f} {unit}", holds(bar), holds(aim)))

    def text(self) -> str:
        """The results as text."""
        parts = [self.title, "=" * len(self.title), ""]
        parts += [f"{name}: {fact}" for name, fact in self.facts.items()]
        if self.samples:
            keys = dict.fromkeys((sample.case, sample.connections, sample.contender)
                                 for sample in self.samples)
            # Python's sort is stable: contenders stay in the order in which they were measured.
            order = list(dict.fromkeys(case for case, _, _ in keys))
            rows = [row(self.of(contender, case, connections)) for case, connections, contender
                    in sorted(keys, key=lambda key: (order.index(key[0]), key[1]))]
            parts += ["", "Medians over the rounds; CPU per answer, in us", "", *table(HEADINGS, rows)]
        if self.figures:
            rows = [[name, number(self.middle(name)), f"{number(min(values))} - {number(max(values))}"]
                    for name, values in self.figures.items()]
            parts += ["", *table(["figure", "median", "range"], rows)]
        if self.verdicts:
            rows = [[verdict.case, verdict.bar, verdict.aim, verdict.measured, said(verdict)]
                    for verdict in self.verdicts]
            parts += ["", *table(["case", "bar", "aim", "measured", ""], rows)]
        parts += ["", *self.notes, ""]
        return "\n".join(parts)

    def save(self, name: str) -> None:
        """Writes the text into load/results, and every single sample as JSON into target/load, which git ignores."""
        (RESULTS / f"{name}.txt").write_text(self.text())
        samples = target_folder() / "load" / f"{name}.json"
        samples.parent.mkdir(parents=True, exist_ok=True)
        samples.write_text(json.dumps(asdict(self), indent=1) + "\n")


HEADINGS = ["load", "connections", "contender", "CPU", "CPU of Redis", "CPU of Postgres", "answers/s",
            "p50 us", "p99 us", "p99.9 us", "max us", "errors"]


def combine(samples: list[Sample]) -> Sample:
    """Medians of each figure; errors and responses are summed."""
    def middle(name: str) -> float | None:
        values = [getattr(sample, name) for sample in samples]
        return None if None in values else median(values)

    first = samples[0]
    numbers = {name: middle(name) for name in ("rate", "p50", "p99", "p999", "max", "cpu", "redis", "postgres")}
    return Sample(first.contender, first.case, first.connections, **numbers,  # type: ignore[arg-type]
                  errors=sum(sample.errors for sample in samples),
                  answered=sum(sample.answered for sample in samples))


def row(sample: Sample | None) -> list[str]:
    """A line of the table."""
    assert sample
    def used(cpu: float | None) -> str:
        return "-" if cpu is None else f"{cpu:.2f}"

    return [sample.case, str(sample.connections), sample.contender, used(sample.cpu), used(sample.redis),
            used(sample.postgres), f"{sample.rate:.0f}", f"{sample.p50:.0f}", f"{sample.p99:.0f}",
            f"{sample.p999:.0f}", f"{sample.max:.0f}",
            str(sample.errors)]


def said(verdict: Verdict) -> str:
    """A verdict in words."""
    if verdict.met is None:
        return ""
    if not verdict.met:
        return "NOT MET"
    return "met, aim reached" if verdict.reached else "met"


def number(value: float | None) -> str:
    """A number with three significant digits."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table; columns of numbers are aligned on the right."""
    def numeric(column: int) -> bool:
        return all(each[column].replace(".", "").replace("-", "").isdigit() or each[column] == "-"
                   for each in rows)

    widths = [max(len(line[column]) for line in [headings, *rows]) for column in range(len(headings))]
    right = [numeric(column) for column in range(len(headings))]

    def line(cells: list[str]) -> str:
        padded = [cell.rjust(width) if flag else cell.ljust(width)
                  for cell, width, flag in zip(cells, widths, right, strict=True)]
        return "  ".join(padded).rstrip()

    return [line(headings), line(["-" * width for width in widths]), *(line(each) for each in rows)]
