#!/usr/bin/env python3
"""Gives the links of an embedded service clicks in the past, for pictures: fill.py DATABASE.

The service must not run meanwhile. Every link gets its clicks by the quarter of an hour, and a count that is their sum. The numbers
come from a fixed seed, so that two runs give the same pictures.
"""

import math
import random
import sqlite3
import sys
import time

QUARTERS_A_DAY = 96
DAYS = 75


def main() -> None:
    chance = random.Random(7)
    database = sqlite3.connect(sys.argv[1])
    now = int(time.time()) // 900
    links = [row[0] for row in database.execute("SELECT id FROM links ORDER BY id")]
    for place, link in enumerate(links):
        series = clicks_of(chance, scale=6 / (1 + place) ** 1.2, now=now)
        newest = max(series)
        database.execute(
            "UPDATE links SET quarter = ?, clicks = ?, in_quarter = ?, created_at = ? WHERE id = ?",
            (newest, sum(series.values()), series[newest], (now - DAYS * QUARTERS_A_DAY) * 900_000_000 + place, link),
        )
        rows = [(link, quarter, clicks) for quarter, clicks in series.items() if quarter != newest]
        database.executemany("INSERT INTO link_series (link_id, quarter, clicks) VALUES (?, ?, ?)", rows)
    database.commit()


def clicks_of(chance: random.Random, scale: float, now: int) -> dict[int, int]:
    """Clicks by quarter: more by day than by night, fewer at weekends, and rising slowly."""
    series = {}
    for quarter in range(now - DAYS * QUARTERS_A_DAY + 1, now + 1):
        day, hour = divmod(quarter / 4, 24)
        by_day = 0.15 + max(0.0, math.sin((hour - 6) / 16 * math.pi)) if 6 <= hour <= 22 else 0.1
        # The first day of 1970 was a Thursday.
        at_weekend = 0.45 if (int(day) + 3) % 7 >= 5 else 1.0
        growth = 0.6 + 0.4 * (quarter - now + DAYS * QUARTERS_A_DAY) / (DAYS * QUARTERS_A_DAY)
        clicks = int(chance.expovariate(1 / (scale * by_day * at_weekend * growth)))
        if clicks > 0:
            series[quarter] = clicks
    return series or {now: 1}


main()
