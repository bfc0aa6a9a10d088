"""`load/compare`: shunt against nginx, a constant response and the textbook design, in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from testbed.programs import Failed, require

from . import cases
from .bench import Bench
from .chart import Bar, Panel, svg
from .contenders import BEFORE, CONTENDERS, Contender
from .drive import Generators
from .generators import find_k6
from .links import codes, uniform, write_paths, zipf_like
from .pinned import PinnedTestbed, say
from .results import RESULTS, Results
from .tools import build, machine, where
from .visitors import write_visitors

EXTRAS = ("browser", "visitors", "half", "unknown", "scanner", "logins", "fresh", "killed", "generators")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    def names(known: tuple[str, ...]) -> Callable[[str], list[str]]:
        def split(text: str) -> list[str]:
            chosen = [name for name in text.split(",") if name]
            if unknown := [name for name in chosen if name not in known]:
                raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
            return chosen
        return split

    parser = argparse.ArgumentParser(prog="load/compare", description=(
        "Starts each contender in turn, drives it with the same load and prints a table: CPU per"
        " redirect, redirects/s, p50, p99. Fails if a click is lost or counted twice. What each"
        " number means is in load/README.md."))
    parser.add_argument("--only", type=names(tuple(CONTENDERS)), default=list(CONTENDERS),
                        metavar="NAMES", help=f"of {', '.join(CONTENDERS)}, with commas between")
    parser.add_argument("--extras", type=names(EXTRAS), default=[name for name in EXTRAS if name != "generators"],
                        metavar="NAMES", help=f"further cases: of {', '.join(EXTRAS)}, without the last by default; '' for none")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds (5)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load (4)")
    parser.add_argument("--sustained", type=float, default=120.0, metavar="SECONDS", help=(
        "of full load on shunt before its half load, which is half of what it sustains (120)"))
    parser.add_argument("--codes", type=int, default=100_000, help="links (100000)")
    parser.add_argument("--connections", default="64,256", help="keep-alive connections (64,256)")
    parser.add_argument("--draws", type=names(("uniform", "zipf")), default=["uniform", "zipf"],
                        help="how codes are drawn (uniform,zipf)")
    parser.add_argument("--server-core", type=int, default=0, help="core of the server (0)")
    parser.add_argument("--load-core", type=int, default=1, help="core of all else (1)")
    parser.add_argument("--database-nice", type=int, default=0, metavar="N", help=(
        "niceness of Postgres, which has a core of its own only where there is a third (0)"))
    parser.add_argument("--before", type=Path, metavar="PROGRAM", help=(
        "another build of shunt, measured beside this one in the same rounds: the bar is 1.03 times its CPU"))
    parser.add_argument("--name", default="compare", help="of the files in load/results (compare)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when a check or the run failed."""
    options = parse(arguments)
    try:
        with PinnedTestbed(options.server_core, options.load_core, options.database_nice) as testbed:
            results = compare(testbed, options)
    except Failed as failure:
        print(f"load/compare: {failure}", file=sys.stderr)
        return 1
    results.save(options.name)
    (RESULTS / f"{options.name}.svg").write_text(chart(results))
    print(results.text())
    return 0


def compare(testbed: PinnedTestbed, options: argparse.Namespace) -> Results:
    """All rounds."""
    tools = require(["wrk", "nginx", "redis-server", "redis-cli", "postgres", "initdb", "psql"])
    results = Results("shunt: the cost of a redirect", machine(tools), notes=notes(testbed, options))
    programs = build()
    testbed.settle()
    known = list(codes(options.codes))
    draws = {"uniform": uniform, "zipf": zipf_like}
    bench = Bench(
        generators=Generators(tools["wrk"], programs / "pace"),
        results=results,
        seconds=options.seconds,
        connections=[int(each) for each in options.connections.split(",")],
        known=known,
        every=write_paths(testbed.folder / "every.paths", known),
        draws={name: write_paths(testbed.folder / f"{name}.paths", draws[name](known))
               for name in options.draws},
        folder=testbed.folder,
        visitors=write_visitors(testbed.folder / "visitors"),
        sustained=options.sustained,
        extras=set(options.extras),
        k6=find_k6() if "generators" in options.extras else None,
    )
    kinds = [CONTENDERS[name] for name in options.only]
    contenders = [kind(testbed, tools, programs, known) for kind in kinds]
    if options.before:
        contenders += [BEFORE[kind](testbed, tools, programs, known, before=options.before.resolve())
                       for kind in kinds if kind in BEFORE]
    for contender in contenders:
        say(f"{contender.name}: preparing")
        contender.prepare()
    for number in range(options.rounds):
        # Every other round has the reverse order, so that a slow change of the machine favours no contender.
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            say(f"round {number + 1} of {options.rounds}: {contender.name}")
            measure(bench, contender, number)
        cases.compare_round(bench)
    cases.judge(results)
    cases.complain(results, contenders)
    return results


def measure(bench: Bench, contender: Contender, number: int) -> None:
    """One contender's turn in one round."""
    if "fresh" in bench.extras:
        cases.fresh(bench, contender)
    with contender.running() as running:
        count = bench.count(running)
        bench.warm(running, count)
        for draw, paths in bench.draws.items():
            for connections in bench.connections:
                bench.full(contender.name, draw, paths, connections, running, count, number)
        cases.extras(bench, contender, running, count)


def notes(testbed: PinnedTestbed, options: argparse.Namespace) -> list[str]:
    """Notes for the reader of the tables."""
    return [
        f"{options.rounds} rounds of {options.seconds:g} s per load; {options.codes} codes.",
        "CPU: user and system time of the server process from /proc/PID/stat, by answers.",
        where(testbed),
        "uniform, zipf: wrk, one thread, as much as goes. half: pace, at half of the round's greatest"
        " uniform load, for shunt of what it sustained in the last third of"
        f" {options.sustained:g} s, arrivals at random, timed from the moment each request fell due.",
        "After each load on shunt the clicks in its statistics were compared with the answers.",
    ]


def chart(results: Results) -> str:
    """The main numbers as a picture."""
    names = list(dict.fromkeys(sample.contender for sample in results.samples))

    def bars(case: str, what: str, connections: list[int]) -> list[Bar]:
        return [Bar(f"{name}, {count} connections", getattr(sample, what), name)
                for count in connections for name in names if (sample := results.of(name, case, count))]

    sizes = sorted({sample.connections for sample in results.samples}, reverse=True)
    facts = results.facts
    return svg(
        results.title,
        "shunt counts every redirect before it answers; nginx and constant count nothing",
        [
            Panel("CPU of the server per redirect (less is better)", "us", bars("uniform", "cpu", sizes)),
            Panel("Redirects per second on one core (more is better)", "/s", bars("uniform", "rate", sizes)),
            Panel("p99 at half of the greatest load (less is better)", "us", bars("half", "p99", sizes)),
        ],
        [
            f"{facts['date']}; {facts['cpu']}; {facts['kernel']}",
            f"shunt {facts['shunt']}; " + "; ".join(
                f"{name} {facts[name]}" for name in ("nginx", "redis-server", "postgres", "wrk")
                if name in facts),
            f"Codes drawn uniformly. Source: load/compare, load/results; {results.notes[0]}",
        ],
    )
