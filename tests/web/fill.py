#!/usr/bin/env python3
"""Gives the links of an embedded service clicks in the past, for pictures: fill.py DATABASE.

The service must not run meanwhile. Every link gets its clicks by the quarter of an hour, a count that is their sum, and the classes of
its visitors. The numbers
come from a fixed seed, so that two runs give the same pictures.
"""

import math
import random
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.class_days import QUARTERS_A_DAY, packed_bots, packed_classes, packed_quarters  # noqa: E402

DAYS = 75
REFERRERS = {"": 30, "news.ycombinator.com": 17, "google.com": 15, "linkedin.com": 9, "t.co": 8, "example.com": 7, "reddit.com": 5,
             "duckduckgo.com": 3, "bsky.app": 3, "mastodon.social": 2, "github.com": 2}
COUNTRIES = {"DE": 38, "US": 17, "AT": 9, "CH": 8, "FR": 7, "GB": 6, "NL": 4, "PL": 3, "": 3, "JP": 2, "BR": 2, "IN": 1}
AGENTS = {("Chrome", "Windows", "desktop", "false"): 24, ("Safari", "iOS", "phone", "false"): 21,
          ("Chrome", "Android", "phone", "false"): 19, ("Firefox", "Linux", "desktop", "false"): 8,
          ("Safari", "macOS", "desktop", "false"): 9, ("Edge", "Windows", "desktop", "false"): 7,
          ("Firefox", "Windows", "desktop", "false"): 4, ("Safari", "iOS", "tablet", "false"): 2, ("", "", "", "true"): 6}


def main() -> None:
    chance = random.Random(7)
    database = sqlite3.connect(sys.argv[1])
    now = int(time.time()) // 900
    links = [row[0] for row in database.execute("SELECT id FROM links ORDER BY id")]
    days: dict[int, Counter] = {}
    for place, link in enumerate(links):
        series = clicks_of(chance, scale=6 / (1 + place) ** 1.2, now=now)
        newest = max(series)
        database.execute(
            "UPDATE links SET interval = ?, clicks = ?, in_interval = ?, created_at = ? WHERE id = ?",
            (newest, sum(series.values()), series[newest], (now - DAYS * QUARTERS_A_DAY) * 900_000_000 + place, link),
        )
        rows = [(link, interval, clicks) for interval, clicks in series.items() if interval != newest]
        database.executemany("INSERT INTO link_series (link_id, interval, clicks) VALUES (?, ?, ?)", rows)
        database.executemany(
            "INSERT INTO owner_series (owner_id, interval, clicks) SELECT owner_id, ?, ? FROM links WHERE id = ?"
            " ON CONFLICT (owner_id, interval) DO UPDATE SET clicks = clicks + excluded.clicks",
            [(interval, clicks, link) for interval, clicks in series.items()],
        )
        visitors_of(random.Random(place), database, link, series, days)
    numbers = database.execute("SELECT id FROM click_classes WHERE bot = 'true'")
    bots_ids = {number for (number,) in numbers}
    for owner, sums in days.items():
        write_days(database, -owner, sums, bots_ids)
    database.commit()


def visitors_of(chance: random.Random, database: sqlite3.Connection, link: int, series: dict[int, int],
                days: dict[int, Counter]) -> None:
    """Gives each click a class, in the days of the link and in the days of its owner."""
    def some(weights: dict, clicks: int) -> list:
        return chance.choices(list(weights), list(weights.values()), k=clicks)

    (owner,) = database.execute("SELECT owner_id FROM links WHERE id = ?", (link,)).fetchone()
    sums = Counter()
    for interval, clicks in series.items():
        visitors = zip(some(REFERRERS, clicks), some(COUNTRIES, clicks), some(AGENTS, clicks), strict=True)
        sums.update((interval, (referrer, country, *agent)) for referrer, country, agent in visitors)
    columns = "referrer, country, browser, os, device, bot"
    database.executemany(
        f"INSERT OR IGNORE INTO click_classes ({columns}, rule, code) VALUES (?, ?, ?, ?, ?, ?, '', '')", {values for _, values in sums})
    ids = {tuple(values): number for number, *values in database.execute(f"SELECT id, {columns} FROM click_classes")}
    bots_ids = {number for values, number in ids.items() if values[-1] == "true"}
    of_owner = days.setdefault(owner, Counter())
    of_link = Counter({(interval, ids[values]): clicks for (interval, values), clicks in sums.items()})
    of_owner.update(of_link)
    write_days(database, link, of_link, bots_ids)


def write_days(database: sqlite3.Connection, whose: int, sums: Counter, bots_ids: set[int]) -> None:
    """Writes days whose quarters have all left their row."""
    days: dict[int, dict[int, dict[int, int]]] = {}
    for (interval, number), clicks in sums.items():
        day = interval - interval % QUARTERS_A_DAY
        days.setdefault(day, {}).setdefault(interval - day, {})[number] = clicks
    for day, quarters in days.items():
        whole, bots = Counter(), Counter()
        for quarter, clicks in quarters.items():
            whole.update(clicks)
            bots.update({quarter: sum(clicks[number] for number in clicks.keys() & bots_ids)})
        row = (day, whose, packed_bots(+bots), packed_classes(whole))
        database.execute("INSERT INTO class_days (day, whose, bots, ended, quarters) VALUES (?, ?, ?, ?, x'')", row)
        database.execute(
            "INSERT INTO class_quarters (day, whose, number, quarters) VALUES (?, ?, 1, ?)", (day, whose, packed_quarters(quarters)))


def clicks_of(chance: random.Random, scale: float, now: int) -> dict[int, int]:
    """Clicks by interval: more by day than by night, fewer at weekends, and rising slowly."""
    series = {}
    for interval in range(now - DAYS * QUARTERS_A_DAY + 1, now + 1):
        day, hour = divmod(interval / 4, 24)
        by_day = 0.15 + max(0.0, math.sin((hour - 6) / 16 * math.pi)) if 6 <= hour <= 22 else 0.1
        # The first day of 1970 was a Thursday.
        at_weekend = 0.45 if (int(day) + 3) % 7 >= 5 else 1.0
        growth = 0.6 + 0.4 * (interval - now + DAYS * QUARTERS_A_DAY) / (DAYS * QUARTERS_A_DAY)
        clicks = int(chance.expovariate(1 / (scale * by_day * at_weekend * growth)))
        if clicks > 0:
            series[interval] = clicks
    return series or {now: 1}


main()
