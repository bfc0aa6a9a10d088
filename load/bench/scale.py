"""`load/scale`: shunt with many links, many pending clicks and long lists, in one run."""

from __future__ import annotations

import argparse
import sys

from testbed.programs import Failed, require

from . import costs, growth, owners, pages, pending, series
from .backends import create_database, start_postgres, start_redis
from .contenders import Embedded
from .drive import Generators
from .pinned import PinnedTestbed, say
from .results import Results
from .stock import Stock, stocked
from .tools import build, machine, where

PARTS = ("memory", "pending", "costs", "classes", "list", "search", "pages", "series", "size", "create", "bulk")
SMALL = 10_000


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/scale", description=(
        "Fills a Postgres of its own with many links and measures their effect: clicks pending"
        " for 1,000,000 links, memory per link, long lists and searches, links made in bulk, 10,000,000 links against 10,000, and"
        " creating links against pgbench. What each number means is in load/README.md."))
    parser.add_argument("--links", type=int, default=10_000_000, help="in the large database (10000000)")
    parser.add_argument("--pending", type=int, default=1_000_000,
                        help="links with pending clicks, cached links, links of a long list (1000000)")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (3)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load (4)")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS",
                        help=f"of {', '.join(PARTS)}, with commas between")
    parser.add_argument("--server-core", type=int, default=0, help="core of the server (0)")
    parser.add_argument("--load-core", type=int, default=1, help="core of all else (1)")
    parser.add_argument("--database-core", type=int, help="core of Postgres (a third one, or that of the load)")
    parser.add_argument("--database-nice", type=int, default=0, metavar="N", help=(
        "niceness of Postgres, which has a core of its own only where there is a third (0)"))
    parser.add_argument("--name", default="scale", help="of the files in load/results (scale)")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"{min(unknown)!r} is none of {', '.join(PARTS)}")
    if options.links < max(SMALL, options.pending):
        parser.error(f"--links must be at least {SMALL} and at least as many as --pending")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when a check or the run failed."""
    options = parse(arguments)
    try:
        with PinnedTestbed(options.server_core, options.load_core, options.database_nice) as testbed:
            if options.database_core is not None:
                testbed.database_core = options.database_core
            results = scale(testbed, options)
    except Failed as failure:
        print(f"load/scale: {failure}", file=sys.stderr)
        return 1
    results.save(options.name)
    print(results.text())
    return 0


def scale(testbed: PinnedTestbed, options: argparse.Namespace) -> Results:
    """All parts."""
    tools = require(["wrk", "redis-server", "redis-cli", "postgres", "initdb", "psql", "pgbench"])
    results = Results("shunt: many links, many clicks", machine(tools), notes=[
        f"{options.links:,} links in the large database, {SMALL:,} in the small one;"
        f" {options.pending:,} links with pending clicks.",
        where(testbed),
        "Latencies: pace, at a constant rate, from the moment each request fell due.",
    ])
    programs = build()
    testbed.settle()
    generators = Generators(tools["wrk"], programs / "pace")
    redis = start_redis(testbed, tools)
    postgres = start_postgres(testbed, tools)

    def stock(name: str, links: int, long: int) -> Stock:
        say(f"{links:,} links in the {name} database")
        database = create_database(postgres, name)
        return stocked(testbed, tools, programs, redis, database, links, long)

    large = stock("large", options.links, options.pending)
    if "memory" in options.only:
        pending.memory(large, generators, results, options.pending)
    if "pending" in options.only:
        pending.written_back(large, generators, results, options)
    if "costs" in options.only:
        costs.sizes(large, results)
        costs.rows(large, results, options.pending // 2)
    if "classes" in options.only:
        costs.classes(large, results, options.pending // 5)
    if "list" in options.only:
        growth.long_list(large, results)
    if "search" in options.only:
        owners.searches(large, generators, results, options.seconds)
    if "pages" in options.only:
        pages.pages(large, generators, results, options.seconds)
    if "series" in options.only:
        series.series(large, generators, results)
    if "size" in options.only:
        small = stock("small", SMALL, 0)
        growth.sizes([small, large], generators, results, options)
    if "create" in options.only:
        growth.creating(large, generators, results, options, tools["pgbench"])
    if "bulk" in options.only:
        embedded = Embedded(testbed, tools, programs, [])
        embedded.prepare()
        owners.bulk(large, embedded, results, options.rounds)
    judge(results)
    return results


def judge(results: Results) -> None:
    """Compares each bar with the measured figure."""
    judge = results.judge
    judge("pending clicks of many links: written back", "pending: seconds until written back", 10, None, "s")
    judge("the same: p99 of redirects against without", "pending: p99 against without", 2, None, "x")
    for what in growth.OPERATIONS:
        judge(f"{what}: CPU with many links against few", f"{what}: CPU, large against small", 1.2, None, "x")
        judge(f"{what}: p99 with many links against few", f"{what}: p99, large against small", 1.2, None, "x")
    judge("memory per link held in the process", "memory: bytes per link held", 600, 300, "bytes", digits=0)
    judge("the same, where 1 of 10 may be held: growth against the bound's share",
          "memory: growth with a bound of a tenth", 0.5, None, "x")
    for what in costs.ROWS:
        judge(f"a link appended, {what}: log", f"a link appended, {what}: bytes of the log", 40, None, "bytes", digits=1)
        judge("the same: CPU of Postgres", f"a link appended, {what}: CPU of Postgres, us", 1.5, None, "us")
        judge(f"a link appended and merged, {what}: log", f"a link appended and merged, {what}: bytes of the log", 300, None, "bytes", digits=1)
        judge("the same: CPU of Postgres", f"a link appended and merged, {what}: CPU of Postgres, us", 5, None, "us")
    judge("the whole list of an owner of many links: growth", "list: growth of the server, MiB",
          16, None, "MiB", digits=1)
    judge("the same: first byte", "list: first byte, ms", 100, None, "ms", digits=1)
    for what in (*owners.PAGES, "deep in the list"):
        name = f"page of many links: {what}: p99, ms"
        judge(f"a page of an owner of many links: {what}: p99", name, 50, None, "ms", digits=1)
    for what in pages.PAGES:
        judge(f"page for people of an owner of many links: {what}: p99",
              f"page for people: {what}: p99, ms", 20, None, "ms", digits=1)
    for whose, paths, bar in (("a link", series.OF_LINK, 50), ("all links", series.OF_OWNER, 300)):
        for what in paths:
            judge(f"series of {whose}: {what}: p99", f"series of {whose}: {what}: p99, ms", bar, None, "ms", digits=1)
    judge("bulk into Postgres over four connections", "bulk: links/s, Postgres", 50_000, None, "links/s",
          least=True, digits=0)
    judge("bulk, embedded", "bulk: links/s, embedded", 30_000, None, "links/s", least=True, digits=0)
    judge("create, 64 connections: against pgbench's insert", "create: rate against pgbench", 0.7, None,
          "x", least=True)
