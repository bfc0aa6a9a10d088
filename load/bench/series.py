"""Series and breakdowns: of one link with many clicks, and of an owner with many links."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from testbed.class_days import packed_bots, packed_classes, packed_quarters
from testbed.databases import Postgres
from testbed.programs import Failed

from .api import Api
from .costs import size_of
from .drive import Generators
from .links import code, write_paths
from .pinned import say
from .results import Results
from .stock import Stock

CLICKS = 10_000_000
"""Clicks of the one link, spread evenly over the quarters of an hour of a year."""
REQUESTS = 100
"""Of each kind, one after the other."""
DAY = 96
YEAR = 365
DETAIL_DAYS = 90
CLASSES_OF_LINK = 2_000
"""Classes that clicks of the link are drawn from: the n-th most frequent one comes about 1/n as often as the first."""
CLASSES_OF_OWNER = 5_000
"""Classes that the account has clicks of on every day."""

OF_LINK = {
    "a year by days": "urls/{code}/stats/series?from={year}",
    "a year by days, in Nepal": "urls/{code}/stats/series?from={year}&tz=Asia/Kathmandu",
    "90 days by referrer": "urls/{code}/stats/breakdown?by=referrer&from={details}",
    "90 days by browser, one country": "urls/{code}/stats/breakdown?by=browser&country=DE&from={details}",
    "90 days by referrer, in Nepal": "urls/{code}/stats/breakdown?by=referrer&tz=Asia/Kathmandu&from={details}",
}
OF_OWNER = {
    "a year by days": "urls/my/series?from={year}",
    "90 days by referrer": "urls/my/breakdown?by=referrer&from={details}",
    "90 days by browser, one country": "urls/my/breakdown?by=browser&country=DE&from={details}",
}


def series(stock: Stock, generators: Generators, results: Results) -> None:
    """The p50 and p99 of each, and whether the sums are right."""
    # A link of the owner of many, in the middle of the list.
    number = next(n for n in range(stock.long // 2, stock.links) if n % stock.step)
    times = Times.now()
    say(f"series: {CLICKS:,} clicks of one link, and clicks of all links of its owner")
    others = fill(stock, code(number), times, results)
    words = {"code": code(number), "year": date(times.year), "details": date(times.details)}
    with stock.running() as running:
        api = Api(running.port, stock.long_token)
        compare_sums(api, words, others)
        for whose, paths in (("a link", OF_LINK), ("all links", OF_OWNER)):
            for what, path in paths.items():
                file = write_paths(stock.testbed.folder / "series.paths", [path.format_map(words)])
                headers = (f"Authorization: Bearer {stock.long_token}",)
                generators.paced(running.port, file, 1, requests=3, drain=30.0, headers=headers)
                load = generators.paced(running.port, file, 1, requests=REQUESTS, drain=30.0, headers=headers)
                if set(load.statuses) != {"200"} or load.errors:
                    raise Failed(f"{whose}: {what}: {load.statuses}, {load.errors} errors")
                results.figure(f"series of {whose}: {what}: p50, ms", load.p50 / 1000)
                results.tail(f"series of {whose}: {what}", load)
                say(f"  {whose}: {what}: p50 {load.p50 / 1000:.1f} ms, {load.shown_tail()}")
    results.checks += 1


def compare_sums(api: Api, words: dict[str, str], others: int) -> None:
    """Fails unless series and breakdowns have every click that was written."""
    expected = {
        OF_LINK["a year by days"]: CLICKS,
        OF_OWNER["a year by days"]: CLICKS + others,
        # The classes of a link are those of all its clicks in these days.
        OF_LINK["90 days by referrer"]: api.ask("GET", "/urls/{code}/stats/series?from={details}".format_map(words))["clicks"],
    }
    for path, clicks in expected.items():
        found = api.ask("GET", "/" + path.format_map(words))["clicks"]
        if found != clicks:
            raise Failed(f"{path} has {found} clicks, {clicks} were written")


@dataclass(frozen=True)
class Times:
    """Quarters of an hour since 1970: the first of a year, the first with classes, the first of today, and the newest."""

    year: int
    details: int
    today: int
    newest: int

    @classmethod
    def now(cls) -> Times:
        """As of this moment."""
        newest = int(time.time()) // 900
        today = newest - newest % DAY
        return cls(today - (YEAR - 1) * DAY, today - (DETAIL_DAYS - 1) * DAY, today, newest)


def date(interval: int) -> str:
    """The date of a quarter (UTC)."""
    return datetime.fromtimestamp(interval * 900, UTC).date().isoformat()


def fill(stock: Stock, hot: str, times: Times, results: Results) -> int:
    """Writes the clicks of all links of the owner of many as if they had been counted; returns those of all but the one link."""
    postgres = stock.postgres
    assert postgres
    owner, link = stock.many, int(postgres.sql(f"select id from links where short_code = '{hot}'"))
    older = times.newest - times.year - DAY
    base, rest = divmod(CLICKS, times.newest - times.year + 1)
    # How many clicks the link has in the interval `q`.
    in_interval = f"({base} + (q - {times.year} < {rest})::int)"
    for statement in (
        # Triggers would note each row once more: what they note is written below in one go.
        f"""delete from link_clicks using links where id = link_id and owner_id = {owner};
            delete from link_series using links where id = link_id and owner_id = {owner};
            delete from owner_series where owner_id = {owner};
            delete from owner_series_log where owner_id = {owner}""",
        f"""insert into link_series (link_id, newest, points)
            select id, at, points_of(at, 1 + id % 5) from links cross join generate_series(0, 1) number
            cross join lateral (select ({times.year} + (id * 7919 + number * 104729) % {older})::integer as at) as point
            where owner_id = {owner} and id <> {link}""",
        f"""insert into link_clicks (link_id, clicks, interval, in_interval)
            select id, 2 * (1 + id % 5) + 1, {times.newest} - id % {DAY}, 1
            from links where owner_id = {owner} and id <> {link}""",
        f"""insert into link_series (link_id, newest, points)
            select {link}, max(q), array_agg((points_of(q, {in_interval}))[1])
            from generate_series({times.year}, {times.newest} - 1) q group by q / 16""",
        f"""insert into link_clicks (link_id, clicks, interval, in_interval)
            values ({link}, {CLICKS}, {times.newest}, {base})""",
        f"""insert into owner_series (owner_id, interval, clicks)
            select {owner}, at, sum(clicks) from links cross join lateral merged_points(id, 0) where owner_id = {owner} group by at""",
    ):
        postgres.sql(f"set session_replication_role = replica; {statement}")
    classes(postgres, owner, link, times, in_interval)
    postgres.sql("vacuum analyze")
    postgres.sql("checkpoint")
    for table in ("link_series", "class_days", "class_quarters"):
        rows = int(postgres.sql(f"select count(*) from {table}"))
        results.figure(f"a row of {table}: bytes", size_of(postgres, table) / rows)
    return counted(postgres, owner) - CLICKS


def counted(postgres: Postgres, owner: int) -> int:
    """The clicks of an owner's links."""
    return int(postgres.sql(f"select sum(clicks) from link_clicks join links on id = link_id where owner_id = {owner}"))


def classes(postgres: Postgres, owner: int, link: int, times: Times, in_interval: str) -> None:
    """Writes classes; the classes of the link are drawn click by click. Quarters have left the rows of their days."""
    postgres.sql(f"""
        insert into click_classes (referrer, country, browser, os, device, rule, code, bot)
        select case n / 50 when 0 then '' else 'page' || n / 50 || '.example' end,
            (array['DE', 'US', 'FR', 'IN', ''])[1 + n % 5], agent[1], agent[2], agent[3], '', '', agent[4]
        from generate_series(0, {CLASSES_OF_OWNER - 1}) n cross join lateral (select string_to_array((array[
            'Chrome,Windows,desktop,false', 'Chrome,Android,phone,false', 'Safari,iOS,phone,false',
            'Safari,macOS,desktop,false', 'Firefox,Windows,desktop,false', 'Edge,Windows,desktop,false',
            'Samsung Internet,Android,phone,false', 'Instagram,iOS,phone,false', 'Firefox,Linux,desktop,false', ',,,true'
        ])[1 + n / 5 % 10], ',') agent) agents on conflict do nothing;
        delete from class_days where whose in ({link}, -{owner});
        delete from class_quarters where whose in ({link}, -{owner})""")
    numbers = [int(line) for line in postgres.sql(f"select id from click_classes order by id limit {CLASSES_OF_OWNER}").split()]
    bots = {int(line) for line in postgres.sql("select id from click_classes where bot = 'true'").split()}
    drawn = postgres.sql(f"""
        select setseed(0.5);
        select q, n, count(*) from (
            select q, floor(power({CLASSES_OF_LINK}, random()))::int as n
            from generate_series({times.details}, {times.newest}) q cross join lateral generate_series(1, {in_interval}) click
        ) draws group by q, n""")
    days: dict[int, dict[int, dict[int, int]]] = {}
    for line in drawn.splitlines():
        values = line.split("\t")
        if len(values) == 3:
            interval, place, clicks = map(int, values)
            day = interval - interval % DAY
            days.setdefault(day, {}).setdefault(interval - day, {})[numbers[place - 1]] = clicks
    of_owner = Counter({number: 1 + CLASSES_OF_OWNER * 10 // place for place, number in enumerate(numbers, 1)})
    rows, left = [], []
    for day, quarters in days.items():
        whole, of_bots = Counter(), Counter()
        for quarter, clicks in quarters.items():
            whole.update(clicks)
            of_bots[quarter] = sum(clicks[number] for number in clicks.keys() & bots)
        packed_of_bots, packed = packed_bots(+of_bots), packed_quarters(quarters)
        for whose, ended in ((link, whole), (-owner, of_owner)):
            rows.append((day, whose, packed_of_bots, packed_classes(ended), b""))
            left.append((day, whose, packed))
    rows += [(day, whose, packed_bots(dict.fromkeys(range(DAY), 20)), b"", b"")
             for day in range(times.year, times.details, DAY) for whose in (link, -owner)]
    for table, lines in (("class_days", rows), ("class_quarters", left)):
        postgres.sql(f"copy {table} from stdin", "".join("\t".join(
            f"\\\\x{value.hex()}" if isinstance(value, bytes) else str(value) for value in line) + "\n" for line in lines))
