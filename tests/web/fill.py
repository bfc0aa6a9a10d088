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

QUARTERS_A_DAY = 96
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
        visitors_of(random.Random(place), database, link, series)
    database.commit()


def visitors_of(chance: random.Random, database: sqlite3.Connection, link: int, series: dict[int, int]) -> None:
    """Gives each click a class, and adds the sums by the interval and by the day, of the link and of its owner."""
    def some(weights: dict, clicks: int) -> list:
        return chance.choices(list(weights), list(weights.values()), k=clicks)

    (owner,) = database.execute("SELECT owner_id FROM links WHERE id = ?", (link,)).fetchone()
    sums, days, bots = Counter(), Counter(), Counter()
    for interval, clicks in series.items():
        visitors = zip(some(REFERRERS, clicks), some(COUNTRIES, clicks), some(AGENTS, clicks), strict=True)
        for referrer, country, agent in visitors:
            values = (referrer, country, *agent)
            sums[interval, values] += 1
            days[interval - interval % QUARTERS_A_DAY, values] += 1
            bots[interval] += agent[-1] == "true"
    classes = [(*values,) for _, values in days]
    columns = "referrer, country, browser, os, device, bot"
    database.executemany(f"INSERT OR IGNORE INTO click_classes ({columns}) VALUES (?, ?, ?, ?, ?, ?)", classes)
    ids = {tuple(values): number for number, *values in database.execute(f"SELECT id, {columns} FROM click_classes")}
    tables = ((sums, "link_details", "owner_details"), (days, "link_detail_days", "owner_detail_days"))
    for kept, of_links, of_owners in tables:
        for table, key, of in ((of_links, "link_id", link), (of_owners, "owner_id", owner)):
            rows = [(of, at, ids[values], clicks) for (at, values), clicks in kept.items()]
            database.executemany(
                f"INSERT INTO {table} ({key}, at, class_id, clicks) VALUES (?, ?, ?, ?)"
                f" ON CONFLICT ({key}, at, class_id) DO UPDATE SET clicks = clicks + excluded.clicks", rows)
    rows = [(link, interval, clicks) for interval, clicks in bots.items() if clicks > 0]
    database.executemany("INSERT INTO link_bots (link_id, interval, clicks) VALUES (?, ?, ?)", rows)


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
