"""Clicks pending for many links: the memory of their links, and writing them back under load."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable

from testbed.databases import Redis
from testbed.processes import wait_for
from testbed.programs import Failed

from .accounting import usage
from .contenders import Running
from .costs import cpu_per, memory_of_redis
from .drive import Generators, Load, all_of
from .links import codes, write_paths
from .pinned import say
from .results import Results
from .stock import Stock

CONNECTIONS = 64
LONG_TTL = {"CACHE_MEMORY_MIB": "8192", "CACHE_TTL_SECONDS": "86400", "SHUTDOWN_TIMEOUT_SECONDS": "150"}
"""Links stay cached, and a stop writes all clicks back, as the counts are read from the database."""
WINDOWS = 8
"""Loads of half of `--seconds` each before the flush."""
MEMORY_PER_LINK = 720
"""Bytes of `CACHE_MEMORY_MIB` for each link with a target of 60, so that all fit: a link counts for some 470 bytes, and links may
take 11/16 of the setting."""
MARGIN = 55.0
"""Seconds for the measurement between the last pending click and the flush."""


def ask_each(stock: Stock, generators: Generators, running: Running, count: int) -> Load:
    """Requests the first `count` codes, each once."""
    paths = stock.testbed.folder / "many.paths"
    if not paths.exists():
        write_paths(paths, codes(count))
    load = generators.paced(running.port, paths, 256, requests=count)
    if load.statuses != {"302": count} or load.errors:
        raise Failed(f"{count} redirects were requested; responses: {load.statuses}, {load.errors} errors")
    return load


def memory(stock: Stock, generators: Generators, results: Results, count: int) -> None:
    """The growth of the process for each cached link, its share of the workers' tables included, and with a tenth of the
    memory. The first time Redis has no link either, so that each is looked up in Postgres; the second time Redis has them."""
    assert stock.redis
    grown = {}
    for share, what in ((1, "a look-up in Postgres"), (10, "a look-up in Redis")):
        memory_mib = max(1, count * MEMORY_PER_LINK // share // 2**20)
        say(f"memory: {count:,} codes, each once, where caches may take {memory_mib} MiB")
        before = stock.clicks()
        in_redis = memory_of_redis(stock.redis)
        # The clicks are written back at the stop: until then Postgres does nothing but look-ups.
        settings = LONG_TTL | {"CACHE_MEMORY_MIB": str(memory_mib), "FLUSH_INTERVAL_MS": "3600000"}
        with stock.running(**settings) as running:
            warm_connections(stock, generators, running)
            start = usage(running.server.pid).resident
            with cpu_per(results, running, f"{what} with its redirect", count):
                load = ask_each(stock, generators, running, count)
            time.sleep(5)
            grown[share] = usage(running.server.pid).resident - start
            pending = memory_of_redis(stock.redis) - in_redis
        agree(stock, results, before, count + warmed())
        if share == 1:
            results.figure("Redis: bytes per cached link", (memory_of_redis(stock.redis) - in_redis) / count)
        else:
            results.figure("Redis: bytes per pending link", pending / count)
        say(f"  {load.rate:.0f}/s; the process grew by {grown[share] / 2**20:.1f} MiB")
    results.figure("memory: bytes per link held", grown[1] / count)
    results.figure("memory: growth with a bound of a tenth", grown[10] / grown[1])


def warmed() -> int:
    """The number of requests of `warm_connections`."""
    return 20_000


def warm_connections(stock: Stock, generators: Generators, running: Running) -> None:
    """Makes the process allocate its memory for connections and batches before the measurement."""
    few = write_paths(stock.testbed.folder / "few.paths", codes(1))
    generators.paced(running.port, few, 256, requests=warmed())


def agree(stock: Stock, results: Results, before: int, redirects: int) -> None:
    """Fails unless the database, after an orderly end, counts each redirect once."""
    counted = stock.clicks() - before
    if counted != redirects:
        raise Failed(f"{redirects} redirects were answered, the database counts {counted}")
    results.checks += 1


class Flush:
    """Watches the flush of one data set in Redis: when it began and when it was done."""

    def __init__(self, stock: Stock) -> None:
        assert stock.redis and stock.postgres
        self.redis = stock.redis
        self.key = "{" + stock.postgres.database + "}:flushing"
        self.began: float | None = None
        self.ended: float | None = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        """Polls four times a second: each poll is a process on the core of Redis."""
        while self.ended is None and not self.over.wait(0.25):
            under_way = self.redis.ask("SCARD", self.key) != "0"
            if under_way and self.began is None:
                self.began = time.monotonic()
            elif self.began is not None and not under_way:
                self.ended = time.monotonic()


def while_log_is_rewritten(redis: Redis, window: Callable[[], Load]) -> Load:
    """The redirects while Redis rewrites its append-only file. From now on Redis rewrites it only when asked: by itself it does so
    whenever the file has doubled, for seconds, and chance would decide whether that falls into the write-back."""
    redis.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")

    def under_way() -> bool:
        return "aof_rewrite_in_progress:0" not in redis.ask("INFO", "persistence")

    wait_for("an earlier rewrite ends", lambda: not under_way())
    redis.ask("BGREWRITEAOF")
    loads = [window()]
    while under_way():
        loads.append(window())
    return all_of(loads)


def written_back(stock: Stock, generators: Generators, results: Results, options: argparse.Namespace) -> None:
    """Pending clicks of many links, which are then written back while redirects run at half load."""
    count = options.pending
    say(f"pending: {count:,} links get a click each")
    before = stock.clicks()
    loads: list[Load] = []
    # The redirects take far less than this; the rest of the interval is waited for.
    interval = count / 10_000 + MARGIN + (WINDOWS / 2 + 3) * options.seconds
    settings = LONG_TTL | {"CACHE_MAX_LINKS": str(2 * count), "FLUSH_INTERVAL_MS": str(round(interval * 1000))}
    with stock.running(**settings) as running:
        started = time.monotonic()
        loads.append(ask_each(stock, generators, running, count))
        warm = write_paths(stock.testbed.folder / "warm.paths", codes(100_000))
        loads.append(generators.paced(running.port, warm, CONNECTIONS, seconds=options.seconds))
        rate = loads[-1].rate / 2
        say(f"  half load is {rate:.0f}/s")

        def window() -> Load:
            loads.append(generators.paced(running.port, warm, CONNECTIONS, seconds=options.seconds / 2,
                                          rate=rate))
            return loads[-1]

        assert stock.redis
        rewritten = while_log_is_rewritten(stock.redis, window)
        note(results, "while Redis rewrites its log", rewritten)
        before_it = [window() for _ in range(WINDOWS)]
        calm = all_of(before_it)
        left = started + interval - time.monotonic() - options.seconds
        if left < 0:
            raise Failed("making clicks pending took too long: the flush began too early")
        say(f"  {calm.shown_tail()} without; waiting {left:.0f} s for the flush")
        flush = Flush(stock)
        time.sleep(left)
        during: list[Load] = []
        used = running.cpu()["postgres"]
        while flush.ended is None and time.monotonic() < started + interval + 120:
            load = window()
            if flush.began is not None:
                during.append(load)
                say(f"  {load.shown_tail()}")
        flush.over.set()
        wait_for("the watch ends", lambda: not flush.thread.is_alive())
        if flush.began is None or flush.ended is None or not during:
            raise Failed("no flush was seen within two minutes")
        used = running.cpu()["postgres"] - used
    agree(stock, results, before, sum(load.answered for load in loads))
    results.figure("pending: seconds until written back", flush.ended - flush.began)
    results.figure("pending: CPU of Postgres per row, us", used * 1e6 / count)
    flushed = all_of(during)
    note(results, "without", calm)
    note(results, "while written back", flushed)
    results.figure("pending: p99 against without", flushed.p99 / calm.p99)
    worst = [max(load.p99 for load in windows) for windows in (before_it, during)]
    results.figure("pending: p99 of the worst window without, us", worst[0])
    results.figure("pending: p99 of the worst window while written back, us", worst[1])
    say(f"  written back in {flush.ended - flush.began:.1f} s; {flushed.shown_tail()} against {calm.shown_tail()},"
        f" p99 in the worst window {worst[1]:.0f} against {worst[0]:.0f} us")


def note(results: Results, when: str, load: Load) -> None:
    """The slow redirects of some loads."""
    for which, latency in load.tail().items():
        results.figure(f"pending: {which} {when}, us", latency * 1000)
