"""`load/write-back`: what writing clicks back costs, by this build and by another one, in turns."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from testbed.programs import Failed, require

from .contenders import Production, ProductionBefore
from .drive import Generators
from .links import codes, write_paths
from .pinned import PinnedTestbed, say
from .results import Results
from .tools import build, machine, where

LINKS = 20_000
RATE = 4_000
"""Redirects a second, over all links in turn: a flush has a row for most of them."""
FLUSH_SECONDS = 5
SETTLES = 10.0
"""Seconds after the load in which the last flushes are written back."""
BAR = 1.05


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when the run failed."""
    parser = argparse.ArgumentParser(prog="load/write-back", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="PROGRAM", help="the other build")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in turns [default: %(default)s]")
    parser.add_argument("--seconds", type=int, default=30, help="of each load [default: %(default)s]")
    parser.add_argument("--programs", type=Path, help="the folder of this build; it is built otherwise")
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        tools = require(["wrk", "redis-server", "redis-cli", "postgres", "initdb", "psql"])
        programs = options.programs or build()
        results = Results("shunt: writing clicks back, against another build", machine(tools))
        with PinnedTestbed(options.server_core, options.load_core) as testbed:
            results.notes += [
                f"{options.rounds} rounds in turns: {RATE:,} redirects a second over {LINKS:,} links for {options.seconds} s, written back every"
                f" {FLUSH_SECONDS} s.",
                where(testbed),
                "CPU of Postgres, and of the server's threads that answer no redirects, by click.",
            ]
            known = list(codes(LINKS))
            paths = write_paths(testbed.folder / "links.paths", known)
            generators = Generators(tools["wrk"], programs / "pace")
            builds = {
                "this build": Production(testbed, tools, programs, known),
                "the build before": ProductionBefore(testbed, tools, programs, known, before=options.before.resolve()),
            }
            for each in builds.values():
                each.prepare()
            testbed.settle()
            for number in range(options.rounds):
                say(f"round {number + 1} of {options.rounds}")
                turns = list(builds.items())
                costs = {name: measured(each, generators, paths, options.seconds, results, name)
                         for name, each in (turns if number % 2 else reversed(turns))}
                results.figure("CPU of a click written back, against the build before", costs["this build"] / costs["the build before"])
    except Failed as failure:
        print(f"load/write-back: {failure}", file=sys.stderr)
        return 1
    results.judge("CPU of a click written back, against the build before", "CPU of a click written back, against the build before", BAR, None, "x")
    results.save("write-back")
    print(results.text())
    return 0


def measured(shunt: Production, generators: Generators, paths: Path, seconds: int, results: Results, name: str) -> float:
    """The CPU of a click on its way to the database, in microseconds."""
    with shunt.running(FLUSH_INTERVAL_MS=str(FLUSH_SECONDS * 1_000)) as running:
        # All links are cached, and have rows.
        generators.paced(running.port, paths, 64, requests=LINKS)
        time.sleep(SETTLES)
        server, postgres = running.cpu_that_follows(), running.cpu()["postgres"]
        load = generators.paced(running.port, paths, 64, seconds=seconds, rate=RATE)
        if load.errors or set(load.statuses) != {"302"}:
            raise Failed(f"{name}: {load.statuses}, {load.errors} errors")
        time.sleep(SETTLES)
        server, postgres = running.cpu_that_follows() - server, running.cpu()["postgres"] - postgres
    server, postgres = (cpu * 1e6 / load.answered for cpu in (server, postgres))
    results.figure(f"{name}: CPU of Postgres by click, us", postgres)
    results.figure(f"{name}: CPU of the server beside redirects by click, us", server)
    say(f"  {name}: {postgres:.1f} us of Postgres, {server:.1f} us of the server")
    return server + postgres
