"""Hosts beside the service's own, each with a link."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from .contenders import Embedded, Shunt

# Numbers of hosts begin at 1 in both databases, and links are as old as their numbers say.
FILL = """
with recursive counted (n) as (select 0 union all select n + 1 from counted where n < {last})
insert into domains (host, name, for_all, created_at)
select 'h' || n || '.example', 'h' || n || '.example', n >= 0, 1800000000000000 from counted order by n;
insert into links (short_code, target_url, owner_id, created_at)
select row_number() over (order by created_at) || '/' || short_code, target_url, owner_id, created_at
from links where short_code not like '%/%'
"""


def host(number: int) -> str:
    """The host with this number."""
    return f"h{number}.example"


def on_host(number: int, path: str, agent: str) -> bytes:
    """A request for a path of a host."""
    return "\r\n".join([f"GET /{path} HTTP/1.1", f"Host: {host(number)}", f"User-Agent: {agent}", "", ""]).encode()


def fill_hosts(shunt: Shunt, count: int) -> None:
    """Makes so many hosts. Each has one of the links that the service's own host has, which are as many."""
    statements = FILL.format(last=count - 1).split(";")
    if isinstance(shunt, Embedded):
        with closing(sqlite3.connect(shunt.file, timeout=30)) as database, database:
            for statement in statements:
                database.execute(statement)
        return
    assert shunt.postgres
    for statement in statements:
        shunt.postgres.sql(statement)
