"""`load/plan`: what 1,000,000 redirects a second over 1,000,000,000 links take, by measured costs, checked by a simulation."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from testbed.programs import Failed

from . import class_plan
from .batch import WITH_CLASSES
from .class_plan import ClassCosts, ClassPlan
from .results import RESULTS, figure
from .simulated import simulate
from .tools import ROOT
from .traffic import Caches, Group, Rates, distinct, lookups, uniform, zipf

PAGE = ROOT / "deploy" / "scaling.md"
BEGIN, END = "<!-- load/plan: begin -->\n", "<!-- load/plan: end -->\n"

BUSY = 0.6
"""How busy a core may be while p99 stays good: `u` of the page."""
MOST_WORKERS = 8
"""Cores for redirects of an instance at most."""
WRITERS = 2
"""Flushes that an instance writes side by side, each of another shard: `WRITERS` in src/clicks/flusher/turns.rs."""
PROCESS_LIFETIMES = (450.0, 900.0)
"""How long a process keeps a link: `MAX_LIFETIME` in src/cache/l2.rs, and half of it."""
REDIS_LIFETIME = 6 * 3600.0
"""`LINK_EXPIRY` in src/cache/redis_tier.rs."""
BYTES_PER_CACHED_LINK = 256 * 2**20 / 400_000
"""Of `CACHE_MEMORY_MIB`, with targets of 60 bytes: deploy/scaling.md."""
SPARE = 1.25
"""Memory of Redis that is bought for each byte in use: buffers and fragments."""
LARGEST_MASTER = 50e9
"""Bytes of Redis on one master at most: it has to be copied to a replica, and read again after a restart."""
OWNERS = 100_000
"""Of the links: costs.py measures with as many."""
INTERVALS = (1, 10, 60, 300, 900)
SECONDS_OF_LOOKUP = 0.004
"""In a busy Postgres."""
GROUPS = 100_000
"""In the simulation one link stands for links / GROUPS."""
TOLERANCE = 0.02
SIMULATED = 5_400.0
"""Seconds of the simulation that are counted: six quarters of an hour."""


@dataclass(frozen=True)
class Costs:
    """Measured costs: CPU in microseconds, memory and disk in bytes."""

    warm: float
    from_redis: float
    from_postgres: float
    batch: float
    click: float
    redis_lookup: float
    postgres_lookup: float
    append: float
    """A link of a flush, written as a part."""
    merge_again: float
    merge_new_quarter: float
    """The same link, merged into its count and into the sums of its owner, of which there are many."""
    log_again: float
    log_new_quarter: float
    redis_link: float
    redis_pending: float
    link: float
    link_clicks: float
    at_rest: float
    """An interval of a link, once sixteen of them are a row."""
    classes: ClassCosts


def sample(load: str, contender: str, column: int) -> float:
    """A cost with 256 connections in visitors.txt."""
    found = re.search(rf"^{load} +256 +{contender} {{2,}}(.*)$", (RESULTS / "visitors.txt").read_text(), re.MULTILINE)
    if not found:
        raise Failed(f"load/results/visitors.txt has no load {load!r} on {contender}")
    return float(found.group(1).split()[column])


def costs() -> Costs:
    """All of them."""
    redis = "a look-up in Redis with its redirect: CPU of"
    postgres = "a look-up in Postgres with its redirect: CPU of"
    owners = f"{OWNERS:,} owners"

    def of_link(what: str, column: str) -> float:
        sums = column.replace("bytes of the log", "bytes of the log per link").replace("Postgres,", "Postgres per link,")
        return (figure(f"a link appended and merged, {what}, {owners}: {column}", "rows")
                + figure(f"sums by owner, {what}, {owners}: {sums}", "rows"))

    cpu, log = "CPU of Postgres, us", "bytes of the log"
    append = figure(f"a link appended, again, {owners}: {cpu}", "rows")
    return Costs(
        # By agents that vary, as those of the public do.
        warm=sample("visitors", "shunt", 0), from_redis=figure(f"{redis} server, us", "costs"),
        from_postgres=figure(f"{postgres} server, us", "costs"),
        batch=figure(f"a batch without its links{WITH_CLASSES}: CPU of Redis, us", "batch"),
        click=figure(f"each link of a batch{WITH_CLASSES}: CPU of Redis, us", "batch"),
        redis_lookup=max(0.0, figure(f"{redis} redis, us", "costs") - sample("uniform", "shunt", 1)),
        postgres_lookup=figure(f"{postgres} postgres, us", "costs"),
        append=append,
        merge_again=of_link("again", cpu) - append,
        merge_new_quarter=of_link("in the next quarter", cpu) - append,
        log_again=of_link("again", log),
        log_new_quarter=of_link("in the next quarter", log),
        redis_link=figure("Redis: bytes per cached link", "costs"),
        redis_pending=figure("Redis: bytes per pending link", "costs"),
        link=figure("Postgres: bytes per link", "rows"),
        link_clicks=figure("a link merged, first: bytes of link_clicks", "rows"),
        at_rest=figure("an interval of a link at rest: bytes", "rows"),
        classes=class_plan.costs(OWNERS),
    )


@dataclass(frozen=True)
class Demand:
    """What is wanted."""

    rate: float
    links: int
    interval: int
    """Between two flushes, in seconds."""
    acknowledged: float
    """How long the acknowledgement of a batch may take, in seconds."""


@dataclass(frozen=True)
class Plan:
    """The set-up for a demand."""

    cost: Costs
    classes: ClassPlan
    rates: Rates
    caches: Caches
    memory_mib: int
    cores: float
    workers: int
    flushes: int
    merges: int
    """That have to run side by side."""
    masters: int
    masters_if_quick: int
    pending: float
    rows: float
    rows_in_new_quarters: float
    postgres_cores: float
    log: float

    @property
    def instances(self) -> int:
        """Of `workers` cores each."""
        return self.caches.instances

    @property
    def shards(self) -> int:
        """Of Redis."""
        return shards_for(self.masters, self.flushes)


def planned(groups: list[Group], cost: Costs, demand: Demand, memory_mib: int) -> Plan:
    """Sizes each part. The number of instances decides what one caches, and so its own cost: it is found step by step."""
    pending = distinct(groups, demand.interval)
    rows = pending / demand.interval
    new = min(rows, distinct(groups, 900) / 900)
    # A flush is written by one session of Postgres, a transaction after the other; an instance merges in one session, too.
    appending = rows * cost.append / 1e6
    merging = ((rows - new) * cost.merge_again + new * cost.merge_new_quarter) / 1e6
    flushes, merges = ceil(appending / BUSY), ceil(merging / BUSY)
    classes = class_plan.planned(groups, cost.classes, demand.rate, demand.interval, BUSY)
    instances = max(merges, classes.merges, ceil(flushes / WRITERS))
    while True:
        caches = Caches(instances, memory_mib * 2**20 / BYTES_PER_CACHED_LINK, PROCESS_LIFETIMES, REDIS_LIFETIME)
        rates = lookups(groups, caches)
        busy = (rates.in_process * cost.warm + rates.in_redis * cost.from_redis + rates.in_postgres * cost.from_postgres) / 1e6 + classes.server
        workers = ceil(busy / BUSY / instances)
        if workers <= MOST_WORKERS:
            break
        instances += 1
    enough = ceil(redis_bytes(cost, rates, pending, classes) / LARGEST_MASTER)

    def masters(acknowledged: float) -> int:
        return max(enough, masters_for(cost, demand, rates, instances * workers / acknowledged, flushes))

    return Plan(
        cost, classes, rates, caches, memory_mib, busy / BUSY, workers, flushes, merges,
        masters(demand.acknowledged), masters(demand.acknowledged / 4), pending, rows, new,
        (appending + merging + classes.postgres + rates.in_postgres * cost.postgres_lookup / 1e6) / BUSY,
        (rows - new) * cost.log_again + new * cost.log_new_quarter + classes.log)


def shards_for(masters: int, flushes: int) -> int:
    """As many for each master, and one for each flush: a shard has one under way."""
    return ceil(flushes / masters) * masters


def masters_for(cost: Costs, demand: Demand, rates: Rates, batches_of_shard: float, flushes: int) -> int:
    """Masters of Redis. Each worker has one batch under way per shard, so that their number per second follows from the time of an
    acknowledgement. (Where Redis is faster, batches are smaller: it looks busier, and is not.)"""
    of_redis = rates.in_redis + rates.in_postgres
    for masters in range(1, 10_000):
        batches = min(batches_of_shard * shards_for(masters, flushes), demand.rate) / masters
        busy = batches * cost.batch + (demand.rate * cost.click + of_redis * cost.redis_lookup) / masters
        if busy / 1e6 <= BUSY:
            return masters
    raise Failed("no number of masters suffices")


def checked(name: str, groups: list[Group], plan: Plan, demand: Demand) -> list[str]:
    """Simulates; lines that compare the figures. Fails where one is off."""
    tail = [group for group in groups if group.links > 1]
    expected = lookups(tail, plan.caches)
    seen = simulate(tail, plan.caches, demand.interval, SIMULATED)
    rest = demand.rate * TOLERANCE
    pairs = [
        ("found in the process, /s", expected.in_process, seen.in_process),
        ("found in Redis, /s", expected.in_redis, seen.in_redis),
        ("looked up in Postgres, /s", expected.in_postgres, seen.in_postgres),
        ("rows written back, /s", distinct(tail, demand.interval) / demand.interval, seen.rows),
        ("the first in their quarter, /s", distinct(tail, 900) / 900, seen.rows_in_new_quarters),
    ]
    lines = []
    for what, computed, simulated in pairs:
        off = abs(simulated - computed)
        # Of what is rare, few are drawn: there the bound is a share of all redirects.
        if off > TOLERANCE * computed and off > rest / 20:
            raise Failed(f"{name}: {what}: computed {computed:,.0f}, simulated {simulated:,.0f}")
        lines.append(f"{name:8} {what:32} computed {computed:10,.0f}  simulated {simulated:10,.0f}")
    return lines


def text(plans: dict[str, Plan], groups: dict[str, list[Group]], demand: Demand) -> str:
    """The tables of the page."""
    def line(what: str, value: Callable[[Plan], str], source: str) -> str:
        return f"| {what} | {' | '.join(value(plan) for plan in plans.values())} | {source} |"

    day = 86_400
    million = 1e6
    rows = [
        f"| {demand.rate:,.0f} redirects/s, {demand.links:,} links | {' | '.join(plans)} | from |",
        "| --- |" + " --- |" * (len(plans) + 1),
        line("**Instances**", lambda p: f"**{p.instances}** of **{p.workers}** cores ({p.cores:.0f} in all)", "`visitors.txt`; look-ups: `costs.txt`"),
        line("memory of an instance", lambda p: f"{p.memory_mib / 1024 + 1:.0f} GiB", "`CACHE_MEMORY_MIB`, and 1 GiB"),
        line("**Masters of Redis**, a core each", lambda p: f"**{p.masters}**", "`batch.txt`; look-ups: `costs.txt`, `visitors.txt`"),
        line(f"the same, batches acknowledged in {demand.acknowledged * 250:g} ms instead of {demand.acknowledged * 1000:g}", lambda p: f"{p.masters_if_quick}", "the same"),
        line("memory of Redis in all", lambda p: f"**{redis_bytes(p.cost, p.rates, p.pending, p.classes) / 1e9:,.0f} GB** ({p.rates.links_in_redis / million:,.0f} million links, {p.pending / million:.1f} million pending)", "`costs.txt`, `batch.txt`"),
        line("**Cores of Postgres**", lambda p: f"**{ceil(p.postgres_cores)}**", "`rows.txt`, `classes.txt`; look-ups: `costs.txt`"),
        line("its log (WAL)", lambda p: f"{p.log / 1e6:.0f} MB/s", "`rows.txt`, `classes.txt`"),
        line("its size at first", lambda p: f"{demand.links * (p.cost.link + p.cost.link_clicks) / 1e9:,.0f} GB", "`rows.txt`"),
        line("its growth by series", lambda p: f"{p.rows_in_new_quarters * p.cost.at_rest * day / 1e12:.2f} TB a day", "`rows.txt`"),
        line("its growth by classes", lambda p: f"{p.classes.disk * day / 1e12:.2f} TB a day", "`classes.txt`"),
        line("found in the process, of all", lambda p: f"{p.rates.in_process / demand.rate:.1%}", "simulated"),
        line("looked up in Redis", lambda p: f"{p.rates.in_redis:,.0f}/s", "simulated"),
        line("looked up in Postgres", lambda p: f"{p.rates.in_postgres:,.0f}/s", "simulated"),
        line("rows written back", lambda p: f"{p.rows:,.0f}/s", "simulated"),
        line("of them the first in their quarter of an hour", lambda p: f"{p.rows_in_new_quarters:,.0f}/s", "simulated"),
        line("flushes that have to be written side by side", lambda p: f"{p.flushes}", "`rows.txt`"),
        line("pairs of a link and a class written back", lambda p: f"{p.classes.pairs:,.0f}/s", "not simulated"),
        line("merges of counts that have to run side by side, one in an instance", lambda p: f"{p.merges}", "`rows.txt`"),
        line("merges of classes, likewise", lambda p: f"{p.classes.merges}", "`classes.txt`"),
        line("`CACHE_MEMORY_MIB`", lambda p: f"{p.memory_mib}", ""),
        line("`WORKERS`", lambda p: f"{p.workers}", ""),
        line("`REDIS_SHARDS`", lambda p: f"{p.shards}", "one per flush, as many for each master"),
        line("`FLUSH_INTERVAL_MS`", lambda p: f"{demand.interval * 1000}", ""),
        line("`ANALYTICS_REDIS_MIB`", lambda p: f"{ceil(2 * p.classes.in_redis / 2**20)}", "`batch.txt`"),
        line("`ANALYTICS_ROWS_PER_DAY`", lambda p: f"{ceil(p.classes.pairs_in_new_quarters * day / 1e9)},000,000,000", "see below"),
        line("`LOOKUP_CONCURRENCY`", lambda p: f"{lookups_at_once(p)}", "4 ms for a look-up"),
        line("`DATABASE_MAX_CONNECTIONS`", lambda p: f"{lookups_at_once(p) + 10}", "those, and the default"),
        "",
        "| rows written back per second, with a flush every | " + " | ".join(f"{each} s" for each in INTERVALS) + " |",
        "| --- |" + " --- |" * len(INTERVALS),
    ]
    for name, of_links in groups.items():
        rows.append(f"| {name} | " + " | ".join(f"{distinct(of_links, each) / each:,.0f}" for each in INTERVALS) + " |")
        rows.append(f"| {name}: GB of pending clicks in Redis | " + " | ".join(
            f"{distinct(of_links, each) * plans[name].cost.redis_pending / 1e9:.1f}" for each in INTERVALS) + " |")
    return "\n".join(rows) + "\n"


def lookups_at_once(plan: Plan) -> int:
    """In one instance; the default where that suffices."""
    return max(8, ceil(plan.rates.in_postgres / plan.instances * SECONDS_OF_LOOKUP))


def redis_bytes(cost: Costs, rates: Rates, pending: float, classes: ClassPlan) -> float:
    """Memory of all masters: cached links, and the clicks of two flushes, as one is written back while the next one fills."""
    return SPARE * (rates.links_in_redis * cost.redis_link + 2 * (pending * cost.redis_pending + classes.in_redis))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="load/plan", description=(
        "Prints what a rate of redirects takes, as tables in Markdown, from the costs in load/results. A simulation checks the arithmetic."))
    parser.add_argument("--rate", type=float, default=1e6, help="redirects per second (1000000)")
    parser.add_argument("--links", type=int, default=10**9, help="links (1000000000)")
    parser.add_argument("--interval", type=int, default=60, help="seconds between two flushes (60)")
    parser.add_argument("--acknowledged-ms", type=float, default=4.0, help="how long the acknowledgement of a batch may take (4)")
    parser.add_argument("--cache-memory-mib", default="6144,256", help="for zipf and uniform (6144,256)")
    parser.add_argument("--check", action="store_true", help="fail unless deploy/scaling.md has exactly these tables")
    parser.add_argument("--write", action="store_true", help="write the tables into deploy/scaling.md")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """0, or 1 when the simulation disagrees or the page has other tables."""
    options = parse(arguments)
    demand = Demand(options.rate, options.links, options.interval, options.acknowledged_ms / 1000)
    memories = [int(each) for each in options.cache_memory_mib.split(",")]
    try:
        groups = {"Zipf": zipf(demand.links, demand.rate, GROUPS), "uniform": uniform(demand.links, demand.rate, GROUPS)}
        plans = {name: planned(groups[name], costs(), demand, memory)
                 for name, memory in zip(groups, memories, strict=True)}
        for name, plan in plans.items():
            print("\n".join(checked(name, groups[name], plan, demand)), file=sys.stderr)
        tables = text(plans, groups, demand)
        page(tables, options)
    except Failed as failure:
        print(f"load/plan: {failure}", file=sys.stderr)
        return 1
    print(tables, end="")
    return 0


def page(tables: str, options: argparse.Namespace) -> None:
    """Compares the page with the tables, or writes them into it."""
    if not (options.check or options.write):
        return
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    there, end, after = rest.partition(END)
    if not begin or not end:
        raise Failed(f"{PAGE} has no place for the tables")
    if options.write:
        PAGE.write_text(before + BEGIN + tables + END + after)
    elif there != tables:
        raise Failed("the tables in deploy/scaling.md are not those of load/plan: load/plan --write")
