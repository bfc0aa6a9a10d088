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
ROWS = ("first", "again", "in the next quarter")
PUBLIC, ONLY_COUNTS = "public", "counts_alone"
SCHEMAS = {PUBLIC: "", ONLY_COUNTS: ", only counts"}
"""As it is, and with only counts, with what is said of each."""


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
    same quarter of an hour, and in the next one, which moves the sum of the interval before to its series. Beside the schema as it is,
    a schema without series and sums by owner, in tables of its own."""
    postgres = stock.postgres
    assert postgres
    # Those after the links that other parts have clicked.
    first, step = stock.long + 1, (stock.links - stock.long) // count
    assert step > 0
    # In the future, so that no row has a later one.
    interval = 2_000_000
    # As all parts of a flush but the last.
    postgres.sql(f"alter database {postgres.database} set synchronous_commit = off")
    make_counts_alone(postgres)
    for what, of_interval in zip(ROWS, (interval, interval, interval + 1), strict=True):
        cpu = {}
        for schema, suffix in SCHEMAS.items():
            # Of sessions from now on: the statement commits, and so is alone in its call.
            postgres.sql(f"alter database {postgres.database} set search_path = {', '.join(dict.fromkeys((schema, PUBLIC)))}")
            postgres.sql("checkpoint")
            lsn = postgres.sql("select pg_current_wal_lsn()")
            tables = {table: size_of(postgres, f"{PUBLIC}.{table}") for table in ("link_clicks", "link_series", "owner_series_log")}
            before = usage(postgres.process.pid).cpu
            postgres.sql(f"""
                do $$ begin
                    for part in 0..{count // PART - 1} loop
                        perform count_clicks(array_agg({first} + {step} * n order by n), array_agg(1::bigint), {of_interval})
                        from generate_series(part * {PART}::bigint, (part + 1) * {PART} - 1) n;
                        commit;
                    end loop;
                end $$""")
            cpu[schema] = (usage(postgres.process.pid).cpu - before) * 1e6 / count
            log = int(postgres.sql(f"select pg_current_wal_lsn() - '{lsn}'::pg_lsn"))
            results.figure(f"a row written back, {what}{suffix}: CPU of Postgres, us", cpu[schema])
            results.figure(f"a row written back, {what}{suffix}: bytes of the log", log / count)
            for table, size in tables.items():
                if schema == PUBLIC:
                    grown = size_of(postgres, f"{PUBLIC}.{table}") - size
                    results.figure(f"a row written back, {what}: bytes of {table}", grown / count)
            say(f"costs: a row written back, {what}{suffix}: {cpu[schema]:.1f} us of Postgres, {log / count:.0f} bytes of its log")
        results.figure(f"a row written back, {what}: CPU against{SCHEMAS[ONLY_COUNTS][1:]}", cpu[PUBLIC] / cpu[ONLY_COUNTS])
    postgres.sql(f"alter database {postgres.database} reset search_path")
    counted = int(postgres.sql(f"select count(*) from link_clicks where interval = {interval + 1}"))
    assert counted >= count // PART * PART, f"{counted} of {count} rows are there"
    alone = int(postgres.sql(f"select sum(clicks) from {ONLY_COUNTS}.link_clicks"))
    assert alone == 3 * (count // PART * PART), f"{ONLY_COUNTS} has {alone} clicks"
    postgres.sql(f"drop schema {ONLY_COUNTS} cascade")


def make_counts_alone(postgres: Postgres) -> None:
    """A schema with a table of only counts, empty, and `count_clicks` for it. The links are those of all."""
    postgres.sql(f"""
        create schema {ONLY_COUNTS}; set search_path = {ONLY_COUNTS}, public;
        create table {ONLY_COUNTS}.link_clicks (link_id bigint primary key, clicks bigint not null check (clicks >= 0))
            with (fillfactor = 50);
        create function count_clicks(ids bigint[], counts bigint[], of_interval integer) returns bigint language plpgsql as $$
        declare
            written bigint;
        begin
            with added as (
                insert into link_clicks (link_id, clicks) select id, n from unnest(ids, counts) as pair (id, n)
                where (select true from link_clicks where link_id = pair.id) or (select true from links where links.id = pair.id)
                order by id on conflict (link_id) do update set clicks = link_clicks.clicks + excluded.clicks
                returning 1
            )
            select count(*) into written from added;
            return written;
        end
        $$""")
