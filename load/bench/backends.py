"""Private Postgres and Redis for one run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .workshop import Command, Process, Workshop, accepts, end_with_parent, free_port, run, wait_for

POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "max_connections": "100",
    "shared_preload_libraries": "pg_stat_statements",
}


@dataclass
class Postgres:
    """A Postgres with durable commits (its defaults), reachable without a password."""

    process: Process
    port: int
    psql: Path
    database: str = "shunt"

    @property
    def url(self) -> str:
        """For DATABASE_URL."""
        return f"postgres://shunt@127.0.0.1:{self.port}/{self.database}"

    def create(self, database: str) -> Postgres:
        """Makes a database and returns the way to it."""
        Postgres(self.process, self.port, self.psql, "postgres").sql(f"create database {database}")
        made = Postgres(self.process, self.port, self.psql, database)
        made.sql("create extension pg_stat_statements")
        return made

    def sql(self, statement: str, rows: str | None = None, seconds: float = 3600.0) -> str:
        """Runs a statement, with `rows` as input of a COPY; returns bare rows, tabs between fields."""
        return run([self.psql, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
                    "-d", self.url, "-c", statement], text=rows, seconds=seconds).strip()

    def lookups(self) -> int:
        """How often links were read by their code so far."""
        return int(self.sql("select coalesce(sum(calls), 0) from pg_stat_statements join"
                            " pg_database on oid = dbid where datname = current_database() and query ~*"
                            " '^select' and query ~* 'links' and query ~* 'short_code *= *[$]'"))


class Watch:
    """Looks every 20 ms how many look-ups by code are under way in Postgres."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres = postgres
        self.most = 0

    def __enter__(self) -> Watch:
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
        self.most = max((int(line) for line in output.split() if line.isdigit()), default=0)


def start_postgres(workshop: Workshop, tools: dict[str, Path]) -> Postgres:
    """Makes a cluster of its own and starts it, as user postgres where this runs as root."""
    user = "postgres" if os.geteuid() == 0 else None
    data = workshop.folder / "postgres"
    data.mkdir(mode=0o700)
    if user:
        shutil.chown(data, user, user)
    run([tools["initdb"], "-D", data, "-U", "shunt", "-A", "trust", "-E", "UTF8", "--no-locale",
         "--no-sync"], user=user)
    port = free_port()
    settings = POSTGRES_SETTINGS | {"port": str(port), "unix_socket_directories": str(data)}
    flags = [f"--{name}={value}" for name, value in settings.items()]
    command: list[str | Path] = [tools["postgres"], "-D", data, *flags]
    process = workshop.start("postgres", command, user=user, stop_signal=signal.SIGINT,
                             core=workshop.database_core, nice=workshop.database_nice)
    wait_for("Postgres listens", lambda: accepts(port))
    server = Postgres(process, port, tools["psql"], "postgres")
    probe: list[str | Path] = [server.psql, "-X", "-q", "-d", server.url, "-c", "select 1"]
    wait_for("Postgres answers", lambda: succeeds(probe))
    return server.create("shunt")


def succeeds(command: Command) -> bool:
    """Whether a command does."""
    try:
        run(command, seconds=10)
    except Exception:
        return False
    return True


@dataclass
class Redis:
    """A Redis with an append-only file, written out every second."""

    process: Process
    port: int
    cli: Path

    @property
    def url(self) -> str:
        """For REDIS_URL."""
        return f"redis://127.0.0.1:{self.port}"

    def ask(self, *command: str, text: str | None = None) -> str:
        """Runs a command, or with `text` the commands in it."""
        return run([self.cli, "-p", str(self.port), *command], text=text).strip()


def start_redis(workshop: Workshop, tools: dict[str, Path], name: str = "redis",
                core: int | None = None) -> Redis:
    """Starts one on a free port, beside the load where no other core is given."""
    port = free_port()
    folder = workshop.folder / name
    folder.mkdir()
    process = workshop.start(name, [
        tools["redis-server"], "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
        "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
        "--maxmemory-policy", "volatile-lru"], core=core)
    wait_for("Redis listens", lambda: accepts(port))
    return Redis(process, port, tools["redis-cli"])
