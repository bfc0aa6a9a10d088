"""`load/overload`: shunt past its capacity."""

from __future__ import annotations

import argparse
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from testbed.programs import Failed, require

from .accounting import usage
from .attacks import ATTACKS
from .backends import start_postgres, start_redis
from .contenders import Production, Running
from .counting import Count
from .drive import Generators, Load, tail
from .hostile import attacks_of, hostile
from .links import codes, write_paths
from .logins import BUSY, logins
from .pinned import PinnedTestbed, say
from .results import Results, table
from .tools import build, machine

PARTS = ("api", "redirects", "idle", "logins", "hostile")
TIMES = 3
"""The load, as a multiple of the capacity."""
KNOWN = 10_000
CLOSED = (16, 64, 256)
"""Connections with which the best rate is searched: each sends its next request after a response."""
OPEN = 2_000
"""Connections of the open load: enough that one is free whenever a request is due."""
FULL = 64
"""Connections at which redirects reach their best rate; more connections do not raise it."""
IDLE = 10_000


@dataclass(frozen=True)
class Work:
    """A kind of load on the API."""

    name: str
    method: str
    paths: Path


@dataclass
class Bench:
    """The parts that all measurements share."""

    generators: Generators
    results: Results
    rounds: int
    seconds: float
    headers: tuple[str, ...]
    table: list[list[str]]
    """Lines of the table of overload."""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/overload", description=(
        "Measures shunt past its capacity, in production mode with a Postgres and a Redis of its own:"
        f" the API at {TIMES} times its capacity, redirects over {TIMES} times the connections and"
        f" over {OPEN:,}, {IDLE:,} idle connections, log-ins beside {BUSY} busy processes, and redirects"
        " beside attacks. What each number means is in load/README.md."))
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (3)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each load (6)")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS",
                        help=f"of {', '.join(PARTS)}, with commas between")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of shunt, for another than its default; again for another one")
    parser.add_argument("--attacks", default=",".join(ATTACKS), metavar="NAMES",
                        help=f"of the part hostile: of {', '.join(ATTACKS)}, with commas between")
    parser.add_argument("--server-core", type=int, default=0, help="core of the server, Postgres and Redis (0)")
    parser.add_argument("--load-core", type=int, default=1, help="core of the load (1)")
    parser.add_argument("--name", default="overload", help="of the files in load/results (overload)")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"{min(unknown)!r} is none of {', '.join(PARTS)}")
    if wrong := [setting for setting in options.set if "=" not in setting]:
        parser.error(f"{wrong[0]!r} is no NAME=VALUE")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when a check or the run failed."""
    options = parse(arguments)
    try:
        results = measure(options)
    except Failed as failure:
        print(f"load/overload: {failure}", file=sys.stderr)
        return 1
    results.save(options.name)
    print(results.text())
    return 0


def measure(options: argparse.Namespace) -> Results:
    """All parts. Log-ins and attacks have testbeds of their own, as nothing is pinned there."""
    tools = require(["wrk", "redis-server", "redis-cli", "postgres", "initdb", "psql"])
    more_files()
    programs = build()
    results = Results("shunt: past its capacity", machine(tools))
    if "logins" in options.only:
        logins(tools, programs, results, (options.server_core, options.load_core), options.rounds)
    if "hostile" in options.only:
        hostile(tools, programs, results, (options.server_core, options.load_core), attacks_of(options.attacks),
                options.rounds, options.seconds)
    if set(options.only) - {"logins", "hostile"}:
        with PinnedTestbed(options.server_core, options.load_core) as testbed:
            overload(testbed, options, tools, programs, results)
    return results


def overload(testbed: PinnedTestbed, options: argparse.Namespace, tools: dict[str, Path], programs: Path,
             results: Results) -> None:
    """The parts on one core."""
    settings = dict(setting.split("=", 1) for setting in options.set)
    named = ", ".join(f"{name}={value}" for name, value in settings.items())
    results.notes += [
        f"{options.rounds} rounds of {options.seconds:g} s per load; {KNOWN:,} links; default settings, but {named}.",
        f"shunt, Postgres and Redis share core {options.server_core}, so that it is what is overloaded; the load"
        f" generator has core {options.load_core} to itself, and does not sleep there.",
        "Best: the closed load with the greatest median rate; ratios are taken within a round, then their median."
        " Overload of the API: three times the greatest rate of the round, pace, at a constant rate, latencies from the"
        " moment each request fell due.",
    ]
    testbed.settle()
    # The service and its databases are on one core, so the generator takes no time from them.
    testbed.database_core = options.server_core
    known = list(codes(KNOWN))
    shunt = Production(testbed, tools, programs, known,
                       redis=start_redis(testbed, tools, core=options.server_core),
                       postgres=start_postgres(testbed, tools))
    say("preparing")
    shunt.prepare()
    bench = Bench(Generators(tools["wrk"], programs / "pace", awake=True), results, options.rounds, options.seconds,
                  (f"Authorization: Bearer {shunt.token}",), [])
    with shunt.running(**settings) as running:
        if "api" in options.only:
            for work in works(testbed.folder, known):
                api(bench, running, work)
        every = write_paths(testbed.folder / "every.paths", known)
        bench.generators.paced(running.port, every, FULL, requests=KNOWN)
        if "redirects" in options.only:
            redirects(bench, running, every)
        if "idle" in options.only:
            idle(bench, running, every, known)
    if shunt.complaints:
        results.notes.append(f"shunt logged {len(shunt.complaints)} warnings, such as: {shunt.complaints[0]}")
    results.notes[:0] = [*table(HEADINGS, bench.table), ""]
    judge(results)


HEADINGS = ["load", "offered/s", "done/s", "p99 ms", "p99.9 ms", "slowest ms", "shed/s", "p50 of those, ms", "p99 of those, ms",
            "slowest of those, ms", "errors"]


def works(folder: Path, known: list[str]) -> list[Work]:
    """Reading and writing."""
    read = [f"urls/{code}/stats" for code in known[:3_000]]
    # One page of the list for three stats.
    for place in range(0, len(read), 4):
        read[place] = "urls/my?limit=20"
    written = [f"urls/shorten?target_url=https%3A%2F%2Fwww.example.com%2Fmade%2F{n}" for n in range(1_000)]
    return [
        Work("stats and lists", "GET", write_paths(folder / "read.paths", read)),
        Work("create", "POST", write_paths(folder / "write.paths", written)),
    ]


def api(bench: Bench, running: Running, work: Work) -> None:
    """The best rate of the API, and its rate at three times that load, in turns."""
    def drive(connections: int, rate: float | None = None) -> Load:
        before = running.cpu()
        load = bench.generators.paced(running.port, work.paths, connections, seconds=bench.seconds, rate=rate,
                                      method=work.method, headers=bench.headers)
        after = running.cpu()
        used = ", ".join(f"{who} {(after[who] - before[who]) / load.seconds:.0%}" for who in after)
        say(f"  {connections} connections: {load.rate:.0f} answers/s; of the core: {used}")
        return load

    rates: dict[int, list[float]] = {connections: [] for connections in CLOSED}
    done: list[float] = []
    for number in range(bench.rounds):
        say(f"{work.name}: round {number + 1} of {bench.rounds}")
        for connections in CLOSED:
            load = drive(connections)
            # Of the most connections, some may wait for the database for longer than it is worth (CoDel).
            if load.errors or (load.refused and connections < max(CLOSED)):
                raise Failed(f"{work.name}: {load.statuses}, {load.errors} errors without overload")
            note(bench, f"{work.name}, {connections} connections", load, None)
            rates[connections].append(load.statuses.get("200", 0) / load.seconds)
        offered = max(each[-1] for each in rates.values()) * TIMES
        load = drive(OPEN, offered)
        if strange := set(load.statuses) - {"200", "503"}:
            raise Failed(f"{work.name}: overload was answered {min(strange)}")
        note(bench, f"{work.name}, {TIMES} x", load, offered)
        done.append(load.statuses.get("200", 0) / load.seconds)
        for status, what in (("200", "done"), ("503", "shed")):
            if status in load.by_status:
                for which, latency in tail(load.by_status[status]).items():
                    bench.results.figure(f"{work.name}: {which} of what is {what}, ms", latency)
    # The best number of connections is chosen by its median, and then compared within a round, so that a lucky window does
    # not count.
    best = max(rates.values(), key=median)
    for each, of in zip(done, best, strict=True):
        bench.results.figure(f"{work.name}: done against best", each / of)


def redirects(bench: Bench, running: Running, every: Path) -> None:
    """Redirects are never shed, and cost less than generating their load. So overload means more connections, each of
    which sends its next request at once."""
    assert running.api
    count = Count(running.api)
    for number in range(bench.rounds):
        say(f"redirects: round {number + 1} of {bench.rounds}")
        best = None
        for connections in (FULL, FULL * TIMES, OPEN):
            load = bench.generators.full(running.port, every, connections, bench.seconds)
            count.check(load)
            bench.results.checks += 1
            note(bench, f"redirects, {connections} connections", load, None)
            best = best or load
            if connections > FULL:
                bench.results.figure(f"redirects: {connections} connections against {FULL}", load.rate / best.rate)


def idle(bench: Bench, running: Running, every: Path, known: list[str]) -> None:
    """The cost of connections that are idle after one request."""
    def drive(name: str) -> tuple[float, float]:
        before = running.cpu()["server"]
        load = bench.generators.full(running.port, every, FULL, bench.seconds)
        used = (running.cpu()["server"] - before) / load.answered * 1e6
        note(bench, name, load, None)
        return load.rate, used

    for number in range(bench.rounds):
        say(f"idle connections: round {number + 1} of {bench.rounds}")
        rate, used = drive("redirects, none idle")
        before = usage(running.server.pid).resident
        with idle_connections(running.port, known):
            grown = usage(running.server.pid).resident - before
            with_idle = drive(f"redirects, {IDLE} idle")
        bench.results.figure(f"{IDLE} idle connections: memory, MiB", grown / 2**20)
        bench.results.figure(f"{IDLE} idle connections: redirects/s against none", with_idle[0] / rate)
        bench.results.figure(f"{IDLE} idle connections: CPU per redirect against none", with_idle[1] / used)


@contextmanager
def idle_connections(port: int, known: list[str]) -> Iterator[None]:
    """Connections that are idle after one redirect."""
    connections: list[socket.socket] = []
    try:
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connections.append(connection)
            connection.sendall(f"GET /{known[number % len(known)]} HTTP/1.1\r\nHost: idle\r\n\r\n".encode())
            if not connection.recv(4096).startswith(b"HTTP/1.1 302"):
                raise Failed("an idle connection was not redirected before")
        yield
    finally:
        for connection in connections:
            connection.close()


def more_files() -> None:
    """Raises the limit of open files for both ends of the idle connections; processes started here inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < IDLE + 3_000:
        raise Failed(f"{IDLE + 3_000} open files are needed: ulimit -Hn says {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def note(bench: Bench, name: str, load: Load, offered: float | None) -> None:
    """A line of the table; without an offered rate the load was closed."""
    done = tail(load.by_status["200"]) if "200" in load.by_status else load.tail()
    shed = load.by_status.get("503")
    count = load.statuses.get("503", 0)
    rate = (load.answered - count) / load.seconds
    line = [name, "-" if offered is None else f"{offered:.0f}", f"{rate:.0f}", *(f"{latency:.1f}" for latency in done.values()),
            f"{count / load.seconds:.0f}", f"{shed['p50'] / 1000:.1f}" if shed else "-",
            f"{shed['p99'] / 1000:.1f}" if shed else "-", f"{shed['max'] / 1000:.1f}" if shed else "-", str(load.errors)]
    bench.table.append(line)
    say("  " + ", ".join(f"{heading} {cell}" for heading, cell in zip(HEADINGS, line, strict=True)))


def judge(results: Results) -> None:
    """Compares each bar with the measured figure."""
    judge = results.judge
    for work in ("stats and lists", "create"):
        judge(f"{work}, offered {TIMES} x: done against best", f"{work}: done against best", 0.9, None, "x", least=True)
        judge(f"{work}, the same: p99 of what is done", f"{work}: p99 of what is done, ms", 1_000, None, "ms", digits=0)
        judge(f"{work}, the same: p99 of what is shed", f"{work}: p99 of what is shed, ms", 1_000, None, "ms", digits=0)
    judge(f"redirects, {FULL * TIMES} connections: done against best",
          f"redirects: {FULL * TIMES} connections against {FULL}", 0.9, None, "x", least=True)
    judge(f"{IDLE} idle connections: memory", f"{IDLE} idle connections: memory, MiB", 200, None, "MiB", digits=0)
    judge("the same: redirects/s against none", f"{IDLE} idle connections: redirects/s against none",
          0.9, None, "x", least=True)
    if results.checks:
        results.notes.append(f"Clicks were compared with answers {results.checks} times; they agreed.")
