"""Costs that a set-up of any size is planned with: of a cold look-up, of a row written back, and bytes per link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from testbed.databases import Postgres, Redis

from .accounting import usage
from .contenders import Running
from .pinned import say
from .results import Results
from .stock import Stock

SERVERS = ("server", "redis", "postgres")
PART = 500
"""Links per transaction, as the flusher has them."""


@contextmanager
def cpu_per(results: Results, running: Running, what: str, count: int) -> Iterator[None]:
    """Notes the CPU of each server meanwhile, divided by `count`, in microseconds."""
    before = running.cpu()
    yield
    after = running.cpu()
    for server in SERVERS:
        results.figure(f"{what}: CPU of {server}, us", (after[server] - before[server]) * 1e6 / count)


def memory_of_redis(redis: Redis) -> int:
    """Bytes that its data and buffers take."""
    lines = dict(line.strip().split(":", 1) for line in redis.ask("INFO", "memory").splitlines() if ":" in line)
    return int(lines["used_memory"])


def sizes(stock: Stock, results: Results) -> None:
    """Bytes of disk per link: the table with its indexes."""
    assert stock.postgres
    links = size_of(stock.postgres, "links")
    results.figure("Postgres: bytes per link", links / stock.links)
    say(f"costs: a link takes {links / stock.links:.0f} bytes of Postgres")


def size_of(postgres: Postgres, table: str) -> int:
    """Bytes of a table with its indexes."""
    return int(postgres.sql(f"select pg_total_relation_size('{table}')"))


def rows(stock: Stock, results: Results, count: int) -> None:
    """Links spread over the whole table, written back in rising order as a flush does: for the first time, again in the
    same quarter of an hour, and in the next one, which moves the sum of the quarter before to its series."""
    postgres = stock.postgres
    assert postgres
    # Those after the links that other parts have clicked.
    first, step = stock.long + 1, (stock.links - stock.long) // count
    assert step > 0
    # In the future, so that no row has a later one.
    quarter = 2_000_000
    # As all parts of a flush but the last.
    postgres.sql(f"alter database {postgres.database} set synchronous_commit = off")
    for what, of_quarter in (("first", quarter), ("again", quarter), ("in the next quarter", quarter + 1)):
        postgres.sql("checkpoint")
        lsn = postgres.sql("select pg_current_wal_lsn()")
        tables = {table: size_of(postgres, table) for table in ("link_clicks", "link_series")}
        before = usage(postgres.process.pid).cpu
        postgres.sql(f"""
            do $$ begin
                for part in 0..{count // PART - 1} loop
                    perform count_clicks(array_agg({first} + {step} * n order by n), array_agg(1::bigint), {of_quarter})
                    from generate_series(part * {PART}::bigint, (part + 1) * {PART} - 1) n;
                    commit;
                end loop;
            end $$""")
        cpu = (usage(postgres.process.pid).cpu - before) * 1e6 / count
        log = int(postgres.sql(f"select pg_current_wal_lsn() - '{lsn}'::pg_lsn"))
        results.figure(f"a row written back, {what}: CPU of Postgres, us", cpu)
        results.figure(f"a row written back, {what}: bytes of the log", log / count)
        for table, size in tables.items():
            grown = size_of(postgres, table) - size
            results.figure(f"a row written back, {what}: bytes of {table}", grown / count)
        say(f"costs: a row written back, {what}: {cpu:.1f} us of Postgres, {log / count:.0f} bytes of its log")
    counted = int(postgres.sql(f"select count(*) from link_clicks where quarter = {quarter + 1}"))
    assert counted >= count // PART * PART, f"{counted} of {count} rows are there"
