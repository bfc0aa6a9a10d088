"""Costs that a set-up of any size is planned with: of a cold look-up, of a row written back, and bytes per link."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from testbed.class_days import packed_details
from testbed.databases import Postgres, Redis
from testbed.programs import Failed

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
CLASSES = (*((what, 1) for what in ROWS), ("in the third quarter, five each", 5))
"""And how many of each link."""
CLASS_TABLES = ("class_days", "class_quarters")
KINDS = 2_000
"""Of visitors."""
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


def classes(stock: Stock, results: Results, count: int) -> None:
    """Classes of links that a flush has left, merged by the service: a class for each link, for the first time, again in the same quarter
    of an hour, and in later ones, and then five classes. The links are the newest ones, of some owners and of many."""
    postgres = stock.postgres
    assert postgres
    links = [int(line) for line in postgres.sql(f"select id from links order by id desc limit {count}").split()][::-1]
    # In the past, so that breakdowns keep the quarters, and no other part has clicks there.
    interval = int(time.time()) // 900 - 10 * 96
    with stock.running() as running:
        start = running.cpu()["server"]
    for owners in OWNERS:
        suffix = "" if owners == OWNERS[0] else f", {owners:,} owners"
        # Triggers would tell every instance of each link.
        postgres.sql(
            "set session_replication_role = replica;"
            " insert into users (email, email_key, password_hash, created_at)"
            f" select name, name, '', 0 from (select 'owner{owners}-' || n as name from generate_series(1, {owners}) n) names;"
            f" update links set owner_id = (select max(id) from users) - links.id % {owners} where id >= {links[0]}")
        postgres.sql("vacuum analyze links")
        for what, kinds in CLASSES:
            interval += what not in ROWS[:2]
            parts = (packed_details(links[first:first + PART], kinds_of(kinds)) for first in range(0, count, PART))
            postgres.sql("copy click_parts (band, epoch, flush, interval, links, clicks, owners, classes) from stdin", "".join(
                f"-1\t\t0\t{interval}\t{{}}\t{{}}\t{{}}\t\\\\x{packed.hex()}\n" for packed in parts))
            sizes_before = sum(size_of(postgres, table) for table in CLASS_TABLES)
            merged_classes(stock, results, f"classes of a link merged, {what}{suffix}", count, start)
            grown = sum(size_of(postgres, table) for table in CLASS_TABLES) - sizes_before
            results.figure(f"classes of a link merged, {what}{suffix}: bytes of class_days and class_quarters", grown / count)
        interval += 96
    postgres.sql("vacuum class_days")
    days = int(postgres.sql("select count(*) from class_days"))
    results.figure("a day of a link or an account, with eight classes in three quarters of an hour: bytes", size_of(postgres, "class_days") / days)


def kinds_of(many: int) -> Callable[[int], Iterable[tuple[str, ...]]]:
    """So many kinds of visitors for each link."""
    return lambda link: (kind((link * many + each) % KINDS) for each in range(many))


def kind(number: int) -> tuple[str, ...]:
    """The values of a class."""
    return (f"page{number % 4}.example" if number % 4 else "", ("DE", "US", "FR", "IN", "")[number // 4 % 5],
            f"Browser {number // 20 % 10}", f"System {number // 200 % 10}", "phone" if number % 3 else "desktop",
            "true" if number % 10 == 0 else "false")


def merged_classes(stock: Stock, results: Results, what: str, count: int, start: float) -> None:
    """Starts the service, and waits until it has merged all classes. `start` is the CPU that it takes to start."""
    postgres = stock.postgres
    assert postgres
    postgres.sql("checkpoint")
    lsn, before = postgres.sql("select pg_current_wal_insert_lsn()"), usage(postgres.process.pid).cpu
    with stock.running() as running:
        until = time.monotonic() + 600
        while postgres.sql("select exists (select from click_parts) or exists (select from owner_series_log)") == "t":
            if time.monotonic() > until:
                raise Failed(f"{what}: not merged within ten minutes")
            # Each question is a new session of Postgres.
            time.sleep(3)
        of_server = running.cpu()["server"] - start
    of_postgres = usage(postgres.process.pid).cpu - before
    log = int(postgres.sql(f"select pg_current_wal_insert_lsn() - '{lsn}'::pg_lsn"))
    for figure, value in (("CPU of server, us", of_server * 1e6), ("CPU of Postgres, us", of_postgres * 1e6), ("bytes of the log", log)):
        results.figure(f"{what}: {figure}", value / count)
    say(f"costs: {what}: {of_server * 1e6 / count:.1f} and {of_postgres * 1e6 / count:.1f} us, {log / count:.0f} bytes of the log")


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
            while (select are_more from sum_owner_series_log(10000)) loop
                commit;
            end loop;
        end $$""")
    yield
    postgres.sql("drop procedure flushed; drop procedure merged; drop procedure sum_log")
