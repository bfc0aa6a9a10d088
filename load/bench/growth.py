"""The effect of a large database: lists, single operations, and creating links against pgbench."""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from testbed.programs import Failed, run

from .accounting import usage
from .api import Api
from .contenders import Running
from .drive import Generators
from .links import write_paths
from .pinned import say
from .results import Results, Sample, combine
from .stock import ASKED, Stock

CONNECTIONS = 64
PIECE = 256 * 1024
TIMES = 3
"""How often each operation is measured in a round; the round has their median."""
POOL = 10
"""Connections to Postgres, of shunt and of pgbench."""


@dataclass(frozen=True)
class Operation:
    """A measured request; `rate` is well below the capacity of any machine of today."""

    rate: float
    method: str = "GET"
    signed: bool = False


OPERATIONS = {
    "redirect": Operation(10_000),
    "create": Operation(400, "POST", signed=True),
    "stats": Operation(1_500),
    "page of the list": Operation(400, signed=True),
}


def long_list(stock: Stock, results: Results) -> None:
    """The whole list of an owner of many links: the growth of the server, and the time to the first byte."""
    with stock.running() as running:
        api = Api(running.port, stock.long_token)
        for _ in range(20):
            api.ask("GET", "/urls/my?limit=10")
        for _ in range(3):
            start = usage(running.server.pid).resident
            most = start
            begin = time.monotonic()
            first = None
            links = 0
            looked = begin
            with api.open("GET", "/urls/my") as answer:
                while piece := answer.read1(PIECE):
                    now = time.monotonic()
                    first = first or now - begin
                    links += piece.count(b'"short_code"')
                    if now - looked > 0.01:
                        looked = now
                        most = max(most, usage(running.server.pid).resident)
            seconds = time.monotonic() - begin
            # The end of a piece may cut a name in two, so that many may be missing.
            if not stock.long * 0.99 <= links <= stock.long * 1.01:
                raise Failed(f"the list holds {links} links, not {stock.long}")
            results.figure("list: growth of the server, MiB", (most - start) / 2**20)
            results.figure("list: first byte, ms", (first or 0.0) * 1000)
            results.figure("list: seconds", seconds)
            say(f"list: {links:,} links in {seconds:.1f} s; the server grew by {(most - start) / 2**20:.1f}"
                f" MiB; first byte after {(first or 0.0) * 1000:.1f} ms")


def sizes(stocks: list[Stock], generators: Generators, results: Results, options: argparse.Namespace) -> None:
    """Each operation on each database, in alternating rounds."""
    for stock in stocks:
        assert stock.postgres
        # Vacuums now, so that the data of earlier parts is not cleaned up during the measurement.
        stock.postgres.sql("vacuum analyze")
        stock.postgres.sql("checkpoint")
    for number in range(options.rounds):
        say(f"sizes: round {number + 1} of {options.rounds}")
        newest: dict[str, list[Sample]] = {}
        for stock in stocks if number % 2 == 0 else reversed(stocks):
            with stock.running() as running:
                for what, sample in operations(stock, generators, running, options.seconds):
                    results.samples.append(sample)
                    newest.setdefault(what, []).append(sample)
        for what, samples in newest.items():
            small, large = sorted(samples, key=lambda sample: sample.contender, reverse=True)
            total = [sample.cpu + (sample.redis or 0) + (sample.postgres or 0) for sample in (small, large)]
            results.figure(f"{what}: CPU, large against small", total[1] / total[0])
            results.figure(f"{what}: p99, large against small", large.p99 / small.p99)


def operations(stock: Stock, generators: Generators, running: Running,
               seconds: float) -> list[tuple[str, Sample]]:
    """Measures every operation on a warm instance."""
    assert stock.postgres
    folder = stock.testbed.folder
    asked = list(stock.asked())
    files = {
        "redirect": write_paths(folder / "redirect.paths", asked),
        "create": write_paths(folder / "create.paths", [
            f"urls/shorten?target_url=https%3A%2F%2Fwww.example.com%2Fmade%2F{n}" for n in range(1000)]),
        "stats": write_paths(folder / "stats.paths", [f"urls/{code}/stats" for code in asked]),
        "page of the list": write_paths(folder / "page.paths", ["urls/my?limit=50"]),
    }
    generators.paced(running.port, files["redirect"], CONNECTIONS, requests=ASKED)
    measured = []
    for what, operation in OPERATIONS.items():
        drive = partial(
            generators.paced, running.port, files[what], CONNECTIONS, rate=operation.rate,
            method=operation.method,
            headers=(f"Authorization: Bearer {stock.token}",) if operation.signed else ())
        drive(seconds=1.0)
        samples = []
        for _ in range(TIMES):
            before = running.cpu()
            load = drive(seconds=seconds)
            after = running.cpu()
            if load.refused or load.errors:
                raise Failed(f"{what}: {load.statuses}, {load.errors} errors")
            used = {who: (after[who] - before[who]) / load.answered * 1e6 for who in after}
            samples.append(Sample(f"{stock.postgres.database} database", what, CONNECTIONS, load.rate, load.p50,
                                  load.p99, load.p999, load.max, load.errors, load.answered, used["server"], used["redis"],
                                  used["postgres"]))
            say(f"  {samples[-1].contender}: {what}: {sum(used.values()):.0f} us CPU in all, {load.shown_tail()}")
        measured.append((what, combine(samples)))
    return measured


def creating(stock: Stock, generators: Generators, results: Results, options: argparse.Namespace,
             pgbench: Path) -> None:
    """Creating links through shunt, against pgbench inserting the same rows over as many connections."""
    assert stock.postgres
    script = stock.testbed.folder / "insert.sql"
    owner = stock.postgres.sql("select id from users where email = 'load@example.com'")
    script.write_text(
        "\\set number random(1, 1000000000000000)\n"
        "insert into links (short_code, target_url, owner_id, created_at) values ('p' || :number,"
        f" 'https://www.example.com/made/' || :number, {owner}, now_micros()) returning id;\n")
    paths = write_paths(stock.testbed.folder / "create.paths", [
        f"urls/shorten?target_url=https%3A%2F%2Fwww.example.com%2Fmade%2F{n:015d}" for n in range(1000)])
    seconds = max(1, round(options.seconds))
    # In both cases everything but Postgres is on the server's core, as pgbench sends the load itself.
    beside = replace(generators, core=stock.testbed.server_core)
    for number in range(options.rounds):
        with stock.running(DATABASE_MAX_CONNECTIONS=str(POOL)) as running:
            drive = partial(beside.paced, running.port, paths, CONNECTIONS, method="POST",
                            headers=(f"Authorization: Bearer {stock.token}",))
            drive(seconds=1.0)
            load = drive(seconds=seconds)
        if load.refused or load.errors:
            raise Failed(f"create: {load.statuses}, {load.errors} errors")
        output = run(["taskset", "-c", stock.testbed.server_core, pgbench, "-n", "-M", "prepared", "-c",
                      POOL, "-j", "1", "-T", seconds, "-f", script, stock.postgres.url])
        found = re.search(r"tps = ([\d.]+)", output)
        if not found:
            raise Failed(f"pgbench said: {output}")
        inserts = float(found.group(1))
        results.figure("create: links/s, shunt", load.rate)
        results.figure("create: rows/s, pgbench", inserts)
        results.figure("create: rate against pgbench", load.rate / inserts)
        say(f"create: round {number + 1}: {load.rate:.0f}/s, pgbench {inserts:.0f}/s")
