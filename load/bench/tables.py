"""Writes links directly into shunt's database, as the API would take minutes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from testbed.databases import Postgres

from .links import code_in_sql, target, target_in_sql
from .pinned import say


def fill_postgres(postgres: Postgres, known: Sequence[str], owner: int) -> None:
    """Adds links to Postgres; the oldest first."""
    now = int(time.time() * 1e6)
    rows = "".join(f"{code}\t{target(number)}\t{owner}\t{now + number}\n" for number, code in enumerate(known))
    postgres.sql("copy links (short_code, target_url, owner_id, created_at) from stdin", rows)
    postgres.sql("analyze links")


def generate_postgres(postgres: Postgres, count: int, owner: str, chunk: int = 500_000) -> None:
    """Makes Postgres generate `count` links; `owner` is an expression of the number `n`."""
    for first in range(0, count, chunk):
        postgres.sql(
            # The owners exist, so the foreign keys need no check; no trigger counts the links.
            "set session_replication_role = replica;"
            " insert into links (short_code, target_url, owner_id, created_at)"
            f" select {code_in_sql('n')}, {target_in_sql('n')}, {owner}, now_micros()"
            f" from generate_series({first}, {min(first + chunk, count) - 1}) n")
        say(f"  {min(first + chunk, count):,} of {count:,} links")
    postgres.sql("update link_totals set links = (select count(*) from links where owner_id = link_totals.owner_id)")
    postgres.sql("vacuum analyze links, link_totals")
    postgres.sql("checkpoint")


def fill_sqlite(file: Path, known: Sequence[str], owner: int) -> None:
    """Adds links to SQLite."""
    now = int(time.time() * 1e6)
    with sqlite3.connect(file, timeout=30) as database:
        database.executemany(
            "insert into links (short_code, target_url, owner_id, created_at) values (?, ?, ?, ?)",
            ((code, target(number), owner, now + number) for number, code in enumerate(known)))
    database.close()
