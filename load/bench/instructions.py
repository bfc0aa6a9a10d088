"""`load/instructions`: the user-space instructions of a warm redirect, counted by callgrind.

Unlike time, they are the same on a busy machine as on a quiet one. The kernel's share is not among them.
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from testbed.processes import Process, wait_for
from testbed.programs import Command, Failed, require, run

from .backends import start_postgres, start_redis
from .contenders import Contender, Embedded, Production, Running, Shunt
from .headers import FIREFOX, head, redirected
from .hosts import fill_hosts, on_host
from .links import codes
from .logins import UnpinnedTestbed
from .pinned import say
from .tools import ROOT, target_folder
from .visitors import AGENTS, PAST_BUDGET, drawn_visitors

SHARED = 32
"""Connections that send at once: their clicks share batches, as under load."""
REQUESTS = 1_280
"""Redirects of a window."""
CLIENTS = 4
"""Addresses of clients."""
ROUNDS = 5
SLOW = 300.0
"""Seconds for the start of a program under callgrind."""
SETTINGS = {"WORKERS": "1", "FLUSH_INTERVAL_MS": "600000"}
"""Write-back is not part of a redirect; `load/scale` measures it."""
WORKERS_CODE = "fast_path"
"""A name in the code that only workers run."""
TOOLS = ["redis-server", "redis-cli", "postgres", "initdb", "psql", "valgrind"]
BOUNDS: dict[str, int] = {
    "shunt embedded, one at a time": 38_200,
    "shunt embedded, 32 at once": 12_250,
    "shunt embedded, 32 at once, 2,000 agents": 13_500,
    "shunt, one at a time": 50_900,
    "shunt, 32 at once": 13_000,
    "shunt, 32 at once, 2,000 agents": 14_000,
}
"""The most instructions of a redirect that `--check` lets pass: 5 % or more above what was printed when they were set."""


class Counted(Contender):
    """A mode of shunt that runs under callgrind, which counts only while it is told to."""

    def serve(self, command: Command, port: int, environment: Mapping[str, str]) -> Process:
        """Starts the program under callgrind and waits until it listens."""
        callgrind: Command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
                              "--callgrind-out-file=callgrind", *command]
        process = self.testbed.start(self.name.replace(" ", "-"), callgrind, port, environment=environment)
        wait_for(f"{self.name} listens", process.listens, SLOW)
        return process


class ProductionCounted(Counted, Production):
    """Postgres and Redis."""


class EmbeddedCounted(Counted, Embedded):
    """SQLite."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parse(arguments)
    try:
        if options.install:
            require(TOOLS)
            return 0
        found = measure(options)
    except Failed as failure:
        print(f"load/instructions: {failure}", file=sys.stderr)
        return 1
    too_many = False
    for case, instructions in found.items():
        bound = BOUNDS.get(case) if options.check else None
        print(f"{case}: {instructions:,} instructions" + (f" (at most {bound:,})" if bound else ""))
        too_many |= bound is not None and instructions > bound
    if too_many:
        print("load/instructions: a warm redirect takes more instructions than it may", file=sys.stderr)
    return int(too_many)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/instructions", description=(
        "Counts the user-space instructions of a warm redirect in both modes, by callgrind: of one visitor at a time, whose"
        f" click is a batch of its own, and of {SHARED} at once, with the same headers each time and with the headers of many visitors."))
    parser.add_argument("--program", type=Path, metavar="PATH", help="another program than that of `cargo build --release`")
    parser.add_argument("--agents", type=int, default=AGENTS, metavar="N", help=f"different agents of many visitors ({AGENTS:,})")
    parser.add_argument("--domains", type=int, default=0, metavar="N", help=(
        "instead of the cases, as many links of the service's own host, and one of each of as many other hosts, in turns"))
    parser.add_argument("--only", default="", metavar="WORDS", help="only cases with these words in their name")
    parser.add_argument("--install", action="store_true", help="only install missing packages")
    parser.add_argument("--check", action="store_true", help="fail past the bounds in load/bench/instructions.py")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, int]:
    """The instructions of a redirect, by case."""
    tools = require(TOOLS)
    programs = options.program.resolve().parent if options.program else build()
    found: dict[str, int] = {}
    at_once = f"{SHARED} at once"
    cases = ((1, 0, "one at a time"), (SHARED, 0, at_once), (SHARED, options.agents, f"{at_once}, {options.agents:,} agents"))
    if options.domains:
        return of_domains(options.domains, tools, programs, options.only)
    with UnpinnedTestbed(0, 1) as testbed:
        known = list(codes(SHARED))
        production = ProductionCounted(testbed, tools, programs, known, redis=start_redis(testbed, tools),
                                       postgres=start_postgres(testbed, tools))
        for shunt in (EmbeddedCounted(testbed, tools, programs, known), production):
            shunt.settings = dict(SETTINGS)
            shunt.prepare()
            with shunt.running() as running:
                for connections, agents, how in cases:
                    if options.only in (name := f"{shunt.name}, {how}"):
                        say(f"  {name}")
                        found[name] = of_a_redirect(shunt, running, connections, agents)
    return found


def of_domains(count: int, tools: Mapping[str, Path], programs: Path, only: str) -> dict[str, int]:
    """The instructions of a redirect of so many links in turns: of the service's own host, before and after it has others, and then
    one of each of as many hosts."""
    found: dict[str, int] = {}
    with UnpinnedTestbed(0, 1) as testbed:
        known = list(codes(count))
        production = ProductionCounted(testbed, tools, programs, known, redis=start_redis(testbed, tools),
                                       postgres=start_postgres(testbed, tools))
        for shunt in (EmbeddedCounted(testbed, tools, programs, known), production):
            if only not in shunt.name:
                continue
            shunt.settings = dict(SETTINGS)
            shunt.prepare()
            own = [head(each, f"User-Agent: {FIREFOX}") for each in known]
            others = [on_host(number, each, FIREFOX) for number, each in enumerate(known)]
            with shunt.running() as running:
                say(f"  {shunt.name}, {count:,} links, no other host")
                found[f"{shunt.name}, {count:,} links, no other host"] = in_turns(running, own)
            fill_hosts(shunt, count)
            with shunt.running() as running:
                for requests, how in ((own, f"{count:,} links beside {count:,} hosts"), (others, f"a link of each of {count:,} hosts")):
                    say(f"  {shunt.name}, {how}")
                    found[f"{shunt.name}, {how}"] = in_turns(running, requests)
    return found


def in_turns(running: Running, requests: Sequence[bytes]) -> int:
    """The instructions of one redirect of these in turns, `SHARED` at once: the median of the windows."""
    assert running.api
    api = running.api
    windows = 0
    connections = [socket.create_connection(("127.0.0.1", running.port), 60, (f"127.0.1.{number % CLIENTS}", 0))
                   for number in range(SHARED)]

    def ask(count: int) -> None:
        for first in range(0, count, SHARED):
            redirected(connections, [requests[number % len(requests)] for number in range(first, min(first + SHARED, count))])

    def window() -> None:
        nonlocal windows
        windows += 1
        ask(REQUESTS)

    try:
        # All are in memory after that.
        ask(len(requests))
        before = api.clicks_in_all()
        counts = [of_workers(running.server, window) / REQUESTS for _ in range(ROUNDS)]
        counted = api.clicks_in_all() - before
    finally:
        for connection in connections:
            connection.close()
    say("    " + ", ".join(f"{each:,.0f}" for each in counts))
    if counted != windows * REQUESTS:
        raise Failed(f"{windows * REQUESTS} redirects were answered, {counted} were counted")
    return round(median(counts))


def build() -> Path:
    """Builds the program as `cargo run --release` does; returns its folder."""
    say("cargo build --release --locked")
    run(["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", ROOT / "Cargo.toml"], seconds=3600)
    return target_folder() / "release"


def of_a_redirect(shunt: Shunt, running: Running, count: int, agents: int) -> int:
    """The instructions of one redirect of `count` at once: the median of the windows. With `agents`, visitors take turns on each
    connection, as behind a proxy."""
    assert running.api
    api = running.api
    known = shunt.known[:count]
    visitors = drawn_visitors(REQUESTS, agents) if agents else [(FIREFOX, "")] * REQUESTS
    requests = [head(known[number % count], f"User-Agent: {agent}", *([f"Referer: {referrer}"] if referrer else []))
                for number, (agent, referrer) in enumerate(visitors)]
    # Each client has a budget for agents that are new, which is little where callgrind makes them slow.
    connections = [socket.create_connection(("127.0.0.1", running.port), 60, (f"127.0.1.{number % CLIENTS}", 0))
                   for number in range(count)]
    windows = 0

    def ask() -> None:
        nonlocal windows
        windows += 1
        for first in range(0, REQUESTS, count):
            redirected(connections, requests[first:first + count])

    def are_known() -> bool:
        before = api.metric(PAST_BUDGET)
        ask()
        return api.metric(PAST_BUDGET) == before

    try:
        before = sum(api.clicks().values())
        wait_for("all agents and referrers are known", are_known, SLOW)
        counts = [of_workers(running.server, ask) / REQUESTS for _ in range(ROUNDS)]
        counted = sum(api.clicks().values()) - before
    finally:
        for connection in connections:
            connection.close()
    say("    " + ", ".join(f"{each:,.0f}" for each in counts))
    if counted != windows * REQUESTS:
        raise Failed(f"{windows * REQUESTS} redirects were answered, {counted} were counted")
    return round(median(counts))


def of_workers(server: Process, act: Callable[[], None]) -> int:
    """The instructions of the threads that answer redirects, while `act` runs. Other threads work by the clock, not by redirect."""
    control(server, "zero")
    control(server, "instrumentation", "on")
    act()
    # Before the end: callgrind forgets its counts then.
    control(server, "dump")
    control(server, "instrumentation", "off")
    instructions = 0
    for file in server.log.parent.glob("callgrind.*"):
        text = file.read_text()
        file.unlink()
        if WORKERS_CODE in text:
            instructions += int(text.rpartition("\ntotals: ")[2].split()[0])
    if not instructions:
        raise Failed(f"no thread ran {WORKERS_CODE}")
    return instructions


def control(server: Process, *command: str) -> None:
    """Tells callgrind what to do."""
    run(["vgdb", f"--pid={server.pid}", *command], seconds=SLOW)
