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
PART = 2_000
"""Links per transaction: `LINKS_PER_STEP` in src/clicks/flusher.rs."""
LEVELS = (7, 10, 13, 16, 19, 22, 25, 28, 31)
LINKS_PER_PART = 128
BANDS_PER_STEP = 64
"""As in src/store/postgres/parts.rs."""
ROWS = ("first", "again", "in the next quarter")
OWNERS = (1_000, 100_000)
TABLES = ("link_clicks", "link_series", "owner_series_log")


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
    """Links spread over the whole table, written back as flushes are: appended as parts, and merged, for the first time, again in the
    same quarter of an hour, in the next one, and eight flushes at once; of some owners and of many."""
    postgres = stock.postgres
    assert postgres
    # Those after the links that other parts have clicked.
    first, step = stock.long + 1, (stock.links - stock.long) // count
    assert step > 0
    count -= count % PART
    # As all parts of a flush but the last.
    postgres.sql(f"alter database {postgres.database} set synchronous_commit = off")
    # In the future, so that no row has a later one.
    interval = 2_000_000
    with flushes(postgres, first, step, count):
        for owners in OWNERS:
            suffix = "" if owners == OWNERS[0] else f", {owners:,} owners"
            arrays, _ = spent(postgres, f"call flushed({interval}, {owners}, false)", count)
            for what in ROWS[0 if owners == OWNERS[0] else 1:]:
                interval += what == ROWS[2]
                cpu, log = spent(postgres, f"call flushed({interval}, {owners}, true)", count)
                results.figure(f"a link appended, {what}{suffix}: CPU of Postgres, us", cpu - arrays)
                results.figure(f"a link appended, {what}{suffix}: bytes of the log", log)
                sizes_before = {table: size_of(postgres, table) for table in TABLES}
                merge = merged(postgres, results, f"a link merged, {what}{suffix}", count)
                results.figure(f"a link appended and merged, {what}{suffix}: CPU of Postgres, us", cpu - arrays + merge[0])
                results.figure(f"a link appended and merged, {what}{suffix}: bytes of the log", log + merge[1])
                for table, size in sizes_before.items():
                    results.figure(f"a link merged, {what}{suffix}: bytes of {table}", (size_of(postgres, table) - size) / count)
                cpu, log = spent(postgres, "call sum_log()", count)
                results.figure(f"sums by owner, {what}{suffix}: CPU of Postgres per link, us", cpu)
                results.figure(f"sums by owner, {what}{suffix}: bytes of the log per link", log)
        for _ in range(8):
            postgres.sql(f"call flushed({interval}, {OWNERS[0]}, true)")
        merged(postgres, results, "a link of a flush merged, eight flushes at once", 8 * count)
        while int(postgres.sql("select count(*) from link_series")) < count:
            interval += 1
            postgres.sql(f"call flushed({interval}, {OWNERS[0]}, true)")
            postgres.sql("call merged()")
        points = int(postgres.sql("select sum(cardinality(points)) from link_series"))
        results.figure("an interval of a link at rest: bytes", size_of(postgres, "link_series") / points)
    counted = int(postgres.sql(f"select count(*) from link_clicks where interval = {interval}"))
    assert counted >= count, f"{counted} of {count} rows are there"


def merged(postgres: Postgres, results: Results, what: str, count: int) -> tuple[float, float]:
    """Merges all parts. Returns the CPU and the bytes of the log for each link."""
    cpu, log = spent(postgres, "call merged()", count)
    results.figure(f"{what}: CPU of Postgres, us", cpu)
    results.figure(f"{what}: bytes of the log", log)
    say(f"costs: {what}: {cpu:.1f} us of Postgres, {log:.0f} bytes of its log")
    return cpu, log


def spent(postgres: Postgres, statement: str, count: int) -> tuple[float, float]:
    """The CPU in microseconds and the bytes of the log that a statement takes, divided by `count`."""
    postgres.sql("checkpoint")
    lsn, before = postgres.sql("select pg_current_wal_insert_lsn()"), usage(postgres.process.pid).cpu
    postgres.sql(statement)
    cpu = usage(postgres.process.pid).cpu - before
    log = int(postgres.sql(f"select pg_current_wal_insert_lsn() - '{lsn}'::pg_lsn"))
    return cpu * 1e6 / count, log / count


@contextmanager
def flushes(postgres: Postgres, first: int, step: int, count: int) -> Iterator[None]:
    """Procedures that write links back as the service does, a transaction after the other. Called without appending, the first one shows
    what the arrays cost that the service sends."""
    level = max(level for level in LEVELS if level == LEVELS[0] or (1 << level) // step <= LINKS_PER_PART)
    postgres.sql(f"""
        create procedure flushed(of_interval integer, owner_count integer, appends boolean) language plpgsql as $$
        declare
            bands bigint[]; ends integer[]; ids integer[]; counts bigint[]; owners bigint[];
        begin
            for part in 0..{count // PART - 1} loop
                with links as (
                    select id, row_number() over (order by id) as place
                    from (select {first} + {step} * n as id from generate_series(part * {PART}::bigint, (part + 1) * {PART} - 1) n) as all_ids
                ),
                lasts as (select id >> {level} as band, max(place)::integer as place from links group by 1)
                select (select array_agg((band << {level + 5}) + {level} order by band) from lasts),
                    (select array_agg(place order by band) from lasts), array_agg((id & {(1 << level) - 1})::integer order by id),
                    array_agg(1::bigint), array_agg(1 + id % owner_count order by id)
                into bands, ends, ids, counts, owners from links;
                if appends then
                    perform insert_parts('load', 1, of_interval, bands, ends, ids, counts, owners);
                end if;
                commit;
            end loop;
        end $$;
        create procedure merged() language plpgsql as $$
        declare
            bands bigint[] := array(select band from click_parts group by band order by band);
            is_begun boolean;
        begin
            for place in 1..cardinality(bands) by {BANDS_PER_STEP} loop
                loop
                    select are_more into is_begun from merge_parts(bands[place:place + {BANDS_PER_STEP - 1}]);
                    commit;
                    exit when not is_begun;
                end loop;
            end loop;
        end $$;
        create procedure sum_log() language plpgsql as $$
        begin
            while (select row_count from sum_owner_series_log(10000)) > 0 loop
                commit;
            end loop;
        end $$""")
    yield
    postgres.sql("drop procedure flushed; drop procedure merged; drop procedure sum_log")
