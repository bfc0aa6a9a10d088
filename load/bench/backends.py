"""Postgres and Redis with the settings of the benchmarks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from testbed import databases
from testbed.databases import Postgres, Redis
from testbed.processes import end_with_parent

from .pinned import PinnedTestbed

POSTGRES_SETTINGS = ["shared_buffers=512MB", "max_wal_size=4GB", "max_connections=100",
                     "shared_preload_libraries=pg_stat_statements"]
REDIS_SETTINGS = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
                  "--maxmemory-policy", "volatile-lru"]


def start_postgres(testbed: PinnedTestbed, tools: dict[str, Path], name: str = "postgres") -> Postgres:
    """Starts a Postgres on the core of databases; returns the database `shunt`."""
    server = databases.start_postgres(testbed, tools, POSTGRES_SETTINGS, name=name,
                                      initdb=["--encoding=UTF8", "--no-locale"], core=testbed.database_core, nice=testbed.database_nice)
    return create_database(server, "shunt")


def create_database(server: Postgres, name: str) -> Postgres:
    """Creates a database that counts its statements."""
    made = server.create(name)
    made.sql("create extension pg_stat_statements")
    return made


def start_redis(testbed: PinnedTestbed, tools: dict[str, Path], name: str = "redis",
                core: int | None = None) -> Redis:
    """Starts a Redis with an append-only file, on the core of the load where no other is given."""
    return databases.start_redis(testbed, tools, REDIS_SETTINGS, name=name, core=core)


def count_lookups(postgres: Postgres) -> int:
    """The number of look-ups of links by code so far."""
    return int(postgres.sql("select coalesce(sum(calls), 0) from pg_stat_statements join"
                            " pg_database on oid = dbid where datname = current_database() and query ~*"
                            " '^select' and query ~* 'links' and query ~* 'short_code *= *[$]'"))


class LookupWatch:
    """Counts every 20 ms how many look-ups by code are under way in Postgres."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres = postgres
        self.max = 0

    def __enter__(self) -> LookupWatch:
        statement = ("select count(*) from pg_stat_activity where state = 'active' and pid <>"
                     " pg_backend_pid() and query ~* 'short_code *= *[$]' \\watch 0.02\n")
        self.popen = subprocess.Popen(
            [self.postgres.psql, "-X", "-q", "-A", "-t", "-d", self.postgres.url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=end_with_parent)
        assert self.popen.stdin
        self.popen.stdin.write(statement)
        self.popen.stdin.flush()
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.terminate()
        output = self.popen.communicate(timeout=30)[0]
        self.max = max((int(line) for line in output.split() if line.isdigit()), default=0)
