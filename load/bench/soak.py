"""`load/soak`: hours at half of what is sustained, over several quarters of an hour."""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from statistics import median

from testbed.programs import Failed, require

from .accounting import usage
from .chart import COLOURS
from .contenders import Embedded, Production, Running, Shunt
from .counting import Count
from .drive import Generators
from .lines import Chart, Line, LinePanel
from .links import codes, uniform, write_paths
from .pinned import PinnedTestbed, say
from .results import RESULTS, Results, table
from .tools import build, machine, target_folder, where
from .visitors import write_visitors

QUARTER = 900
EVERY = 5.0
"""Seconds between two looks at backlog, disk and memory."""
AFTER = 30
"""Seconds after a quarter of an hour that are compared with the rest."""
MODES: dict[str, type[Shunt]] = {"shunt": Production, "shunt-embedded": Embedded}
BACKLOG = {"pending_links": "shunt_redis_pending_links", "journal_batches": "shunt_journal_batches",
           "flushes_unmerged": "shunt_flushes_unmerged", "click_parts": "shunt_click_parts",
           "pending_oldest_seconds": "shunt_clicks_pending_oldest_seconds"}
"""Columns of the file, and the metrics that they show."""
WAITING = ("pending_links", "journal_batches", "flushes_unmerged", "click_parts")
"""Those of clicks that are not in the counts yet."""
MEASURED = 6.0
"""Seconds in which the service measures them at least once: `STORES_PAUSE` in src/server/jobs/measure.rs, and one more."""
NAMES = {"postgres": "Postgres", "redis": "Redis", "sqlite": "SQLite"}
LOOKS = [*BACKLOG, "disk_postgres", "disk_redis", "disk_sqlite", "memory_service", "memory_postgres", "memory_redis"]


@dataclass
class Soak:
    """What was seen of one mode."""

    name: str
    seconds: list[dict[str, float]]
    """The lines of pace, by rising time."""
    looks: dict[int, dict[str, float]] = field(default_factory=dict)
    """Backlog, disk and memory in bytes, by the second since the beginning."""

    def line(self, column: str, divisor: float, label: str, colour: str) -> Line:
        """A column of the file, from its beginning."""
        rows: Iterator[tuple[float, dict[str, float]]] = iter((row["second"], row) for row in self.seconds if row["answered"])
        if column in LOOKS:
            rows = iter(self.looks.items())
        return Line(label, colour, [(at, row[column] / divisor) for at, row in rows if column in row])


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/soak", description=(
        "Drives shunt at half of what it sustains, in each mode in turn, and draws the p99 of each second, the backlog, the disk and"
        " the memory. Fails if a click is lost or counted twice. What each number means is in load/README.md."))
    parser.add_argument("--hours", type=float, default=2.0, help="of each mode (2)")
    parser.add_argument("--minutes", type=float, help="instead of --hours, for a trial")
    parser.add_argument("--only", choices=tuple(MODES), action="append", help="one mode; both without it")
    parser.add_argument("--codes", type=int, default=100_000, help="links (100000)")
    parser.add_argument("--connections", type=int, default=64, help="keep-alive connections (64)")
    parser.add_argument("--sustain", type=float, default=60.0, help="seconds of full load that show what is sustained (60)")
    parser.add_argument("--server-core", type=int, default=0, help="core of the server (0)")
    parser.add_argument("--load-core", type=int, default=1, help="core of all else (1)")
    parser.add_argument("--name", default="soak", help="of the files in load/results (soak)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when a check or the run failed."""
    options = parse(arguments)
    seconds = options.minutes * 60 if options.minutes else options.hours * 3600
    soaks: list[Soak] = []
    try:
        tools = require(["redis-server", "redis-cli", "postgres", "initdb", "psql"])
        programs = build()
        results = Results("shunt: hours at half load", machine(tools))
        with PinnedTestbed(options.server_core, options.load_core) as testbed:
            testbed.settle()
            results.notes += [
                f"Each mode for {seconds / 60:g} minutes over {options.connections} connections; {options.codes} codes, 2,000 agents.",
                "Default settings but those without limits.",
                f"Sustained: the redirects of {options.sustain:g} s of full load, by the time until they were written back.",
                where(testbed),
            ]
            for name in options.only or MODES:
                shunt = MODES[name](testbed, tools, programs, list(codes(options.codes)))
                soaks.append(soak(shunt, Generators(Path("wrk"), programs / "pace"), results, options, seconds))
                keep(results, soaks, options.name)
    except Failed as failure:
        print(f"load/soak: {failure}", file=sys.stderr)
        return 1
    print(results.text())
    return 0


def keep(results: Results, soaks: list[Soak], name: str) -> None:
    """Writes all files, after each mode: the next one may fail hours later."""
    write(target_folder() / "load" / f"{name}.csv", soaks)
    results.save(name)
    (RESULTS / f"{name}.svg").write_text(chart(results, soaks).svg())


def soak(shunt: Shunt, generators: Generators, results: Results, options: argparse.Namespace, seconds: float) -> Soak:
    """One mode."""
    folder = shunt.testbed.folder
    say(f"{shunt.name}: preparing")
    shunt.prepare()
    paths = write_paths(folder / f"{shunt.name}.paths", uniform(shunt.known))
    visitors = write_visitors(folder / "visitors")
    by_second = folder / f"{shunt.name}.csv"
    with shunt.running() as running:
        assert running.api
        count = Count(running.api)
        sustained = find_sustained(running, generators, count, paths, visitors, options)
        results.figure(f"{shunt.name}: sustained, redirects/s", sustained)
        say(f"{shunt.name}: {sustained / 2:.0f}/s, half of what is sustained, for {seconds / 60:g} minutes")
        pace = generators.start_pace(running.port, paths, options.connections, seconds=seconds, rate=sustained / 2, drain=60.0,
                                     visitors=visitors, by_second=by_second)
        looks: dict[int, dict[str, float]] = {}
        began, begin = time.time(), time.monotonic()
        for number in itertools.count():
            newest = looks[int(time.monotonic() - begin)] = look(shunt, running)
            if number % 12 == 0:
                say("  " + ", ".join(f"{name} {value:.0f}" for name, value in newest.items()))
            has_ended = pace.ends_within(max(0.0, begin + (number + 1) * EVERY - time.monotonic()))
            running.server.check()
            if has_ended:
                break
        load = pace.result()
        count.check(load)
        results.notes.append(f"{shunt.name}: the clicks of both loads were compared with the responses; they agreed.")
    if shunt.complaints:
        results.notes.append(f"{shunt.name} logged {len(shunt.complaints)} warnings, such as: {shunt.complaints[0]}")
    with by_second.open() as lines:
        found = [{"time": began + float(row["second"])} | {name: float(value) for name, value in row.items()}
                 for row in csv.DictReader(lines)]
    whole = Soak(shunt.name, found, looks)
    results.figure(f"{shunt.name}: redirects/s at half load", load.rate)
    results.tail(f"{shunt.name}, all redirects", load)
    note(results, whole)
    results.notes += ["", f"{shunt.name} by quarters of an hour (UTC): p99 in ms, and the most of the others, disk and memory in MiB", "", *by_quarter(whole), ""]
    return whole


def find_sustained(running: Running, generators: Generators, count: Count, paths: Path, visitors: Path,
                   options: argparse.Namespace) -> float:
    """Redirects a second that are answered and written back: full load for a while, and then the rest of the writing back."""
    begin = time.monotonic()
    load = generators.paced(running.port, paths, options.connections, seconds=options.sustain, visitors=visitors)
    say(f"  {load.rate:.0f}/s were answered at full load")
    written = time.monotonic()
    end = written + 600 + 10 * options.sustain
    while time.monotonic() - written < MEASURED:
        time.sleep(0.5)
        waiting = backlog(running)
        if any(waiting.get(name) for name in WAITING):
            written = time.monotonic()
        if written > end:
            raise Failed(f"what {options.sustain:g} s of full load brought is not written back yet")
    say(f"  it was written back {written - begin:.0f} s after it began")
    count.check(load)
    return load.answered / (written - begin)


def backlog(running: Running) -> dict[str, float]:
    """What waits to be written back; nothing if the service does not say."""
    assert running.api
    try:
        return running.api.metrics(BACKLOG)
    except (OSError, HTTPException) as failure:
        say(f"  no metrics: {failure}")
        return {}


def look(shunt: Shunt, running: Running) -> dict[str, float]:
    """Backlog, disk and memory now."""
    found = backlog(running)
    for server in ("sqlite",) if isinstance(shunt, Embedded) else ("postgres", "redis"):
        found[f"disk_{server}"] = disk(shunt.testbed.folder / server)
    found["memory_service"] = usage(running.server.pid).resident
    if running.postgres:
        found["memory_postgres"] = usage(running.postgres.process.pid).resident
    if running.redis:
        found["memory_redis"] = usage(running.redis.process.pid).resident
    return found


def disk(folder: Path) -> int:
    """Bytes on the disk of all files below a folder."""
    taken = 0
    for path in folder.rglob("*"):
        try:
            taken += path.lstat().st_blocks * 512
        except FileNotFoundError:
            continue
    return taken


def note(results: Results, whole: Soak) -> None:
    """The figures of one mode."""
    name = whole.name
    answered = [row for row in whole.seconds if row["answered"]]
    results.figure(f"{name}: median of the seconds' p99s, ms", median(row["p99_us"] for row in answered) / 1000)
    results.figure(f"{name}: the worst second's p99, ms", max(row["p99_us"] for row in answered) / 1000)
    late = [row["p99_us"] / 1000 for row in answered if row["time"] % QUARTER < AFTER]
    if late:
        results.figure(f"{name}: median p99 of the {AFTER} s after a quarter of an hour, ms", median(late))
        results.figure(f"{name}: the worst of these, ms", max(late))
    results.figure(f"{name}: seconds without any response", len(whole.seconds) - len(answered))
    for column in LOOKS:
        values = [look[column] for look in whole.looks.values() if column in look]
        if not values or not any(values):
            continue
        unit, divisor = (", MiB", 2**20) if column.startswith(("disk", "memory")) else ("", 1)
        shown = column.replace("_", " ")
        for when, value in (("at the beginning", values[0]), ("at most", max(values)), ("in the end", values[-1])):
            results.figure(f"{name}: {shown} {when}{unit}", value / divisor)


def by_quarter(whole: Soak) -> list[str]:
    """A table of the quarters of an hour."""
    columns = [column for column in LOOKS if any(look.get(column) for look in whole.looks.values())]
    begin = whole.seconds[0]["time"]
    rows = []
    for quarter, rows_of_quarter in itertools.groupby(whole.seconds, lambda row: row["time"] // QUARTER):
        seconds = list(rows_of_quarter)
        p99s = [row["p99_us"] / 1000 for row in seconds if row["answered"]]
        looks = [look for second, look in whole.looks.items() if (begin + second) // QUARTER == quarter]
        cells = [time.strftime("%H:%M", time.gmtime(quarter * QUARTER)), str(len(seconds))]
        cells += [f"{median(p99s):.2f}", f"{max(p99s):.1f}"] if p99s else ["-", "-"]
        for column in columns:
            values = [look[column] for look in looks if column in look]
            divisor = 2**20 if column.startswith(("disk", "memory")) else 1
            cells.append(f"{max(values) / divisor:.0f}" if values else "-")
        rows.append(cells)
    return table(["from", "seconds", "median p99", "worst p99", *(column.replace("_", " ") for column in columns)], rows)


def write(path: Path, soaks: list[Soak]) -> None:
    """Every second of every mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        rows = csv.DictWriter(out, ["mode", *soaks[0].seconds[0], *LOOKS])
        rows.writeheader()
        for whole in soaks:
            for row in whole.seconds:
                looked = whole.looks.get(int(row["second"]), {})
                cells = {name: f"{value:.0f}" for name, value in (row | looked).items()}
                rows.writerow({"mode": whole.name} | cells)
    say(f"every second is in {path}")


def chart(results: Results, soaks: list[Soak]) -> Chart:
    """All modes in one picture."""
    servers = {"service": "", "postgres": "#4c6a92", "redis": "#b5651d", "sqlite": COLOURS[Embedded.name]}

    def each(column: str, divisor: float) -> list[Line]:
        return [whole.line(column, divisor, whole.name, COLOURS[whole.name]) for whole in soaks]

    def by_server(what: str) -> list[Line]:
        lines = [whole.line(f"{what}_{server}", 2**20, NAMES.get(server, whole.name),
                            colour or COLOURS[whole.name])
                 for whole in soaks for server, colour in servers.items() if f"{what}_{server}" in LOOKS]
        return [line for line in lines if line.points]

    begins = [whole.seconds[0]["time"] for whole in soaks]
    ends = max(whole.seconds[-1]["time"] - whole.seconds[0]["time"] for whole in soaks)
    marks = [(moment, COLOURS[whole.name]) for whole, begin in zip(soaks, begins, strict=True)
             for number in range(int(ends // QUARTER) + 1)
             if (moment := QUARTER - begin % QUARTER + number * QUARTER) <= ends]
    facts = results.facts
    return Chart(
        results.title,
        "half of what is sustained; dashed: the quarters of an hour of each mode; a point is the greatest value at its place",
        [
            LinePanel("p99 of each second", "ms", each("p99_us", 1000), is_log=True),
            LinePanel("Links whose clicks are pending in Redis", "thousands", each("pending_links", 1000)),
            LinePanel("Written to Postgres and not merged", "flushes", each("flushes_unmerged", 1)),
            LinePanel("Batches in the journal", "thousands", each("journal_batches", 1000)),
            LinePanel("Disk", "MiB", by_server("disk")),
            LinePanel("Anonymous memory", "MiB", by_server("memory")),
        ],
        [
            f"{facts['date']}; {facts['cpu']}; {facts['kernel']}",
            f"shunt {facts['shunt']}; " + "; ".join(f"{name} {facts[name]}" for name in ("redis-server", "postgres") if name in facts),
            f"Source: load/soak, load/results; {results.notes[0]}",
        ],
        marks,
    )
