"""A private Postgres and a private Redis for one run."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .processes import Process, Testbed, free_port, wait_for
from .programs import Command, run, succeeds

USER = "shunt"


@dataclass(frozen=True)
class Postgres:
    """A database of a Postgres with durable commits (its defaults)."""

    process: Process
    psql: Path
    database: str
    password: str
    """Empty where the server requires none."""

    @property
    def url(self) -> str:
        """The value of DATABASE_URL."""
        login = f"{USER}:{self.password}" if self.password else USER
        return f"postgres://{login}@127.0.0.1:{self.process.port}/{self.database}"

    def create(self, database: str) -> Postgres:
        """Creates another database on the same server."""
        self.sql(f"create database {database}")
        return replace(self, database=database)

    def sql(self, statement: str, rows: str | None = None, seconds: float = 3600.0) -> str:
        """Runs a statement, with `rows` as input of a COPY; returns bare rows, tabs between fields."""
        return run([self.psql, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
                    "-d", self.url, "-c", statement], text=rows, seconds=seconds).strip()


@dataclass(frozen=True)
class Redis:
    """A Redis server."""

    process: Process
    cli: Path
    password: str
    """Empty where the server requires none."""

    @property
    def url(self) -> str:
        """The value of REDIS_URL."""
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.process.port}"

    def ask(self, *command: str, text: str | None = None) -> str:
        """Runs a command, or with `text` the commands in it."""
        return run([self.cli, "-u", self.url, *command], text=text).strip()


def start_postgres(
    testbed: Testbed,
    tools: Mapping[str, Path],
    settings: Sequence[str],
    *,
    name: str = "postgres",
    initdb: Sequence[str] = (),
    password: str = "",
    core: int | None = None,
    nice: int = 0,
) -> Postgres:
    """Makes a cluster and starts its server, as user postgres where this runs as root; `settings` are NAME=VALUE,
    `initdb` further arguments of that command. Returns the database `postgres`."""
    user = "postgres" if os.geteuid() == 0 else None
    folder = testbed.folder / name
    folder.mkdir()
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o600)
    if user:
        shutil.chown(folder, user, user)
        shutil.chown(secret, user, user)
    login = [f"--pwfile={secret}", "--auth-local=trust"] if password else ["--auth=trust"]
    run([tools["initdb"], "--pgdata", folder / "data", f"--username={USER}", "--no-sync", *login, *initdb],
        user=user, folder=folder)
    port = free_port()
    own = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
    flags = [f"--{setting}" for setting in [*settings, *own]]
    process = testbed.start(name, [tools["postgres"], "-D", folder / "data", *flags], port, user=user,
                            stop_signal=signal.SIGINT, core=core, nice=nice)
    postgres = Postgres(process, tools["psql"], "postgres", password)
    probe: Command = [postgres.psql, "-X", "-q", "-d", postgres.url, "-c", "select 1"]
    wait_for("Postgres answers", lambda: process.listens() and succeeds(probe))
    return postgres


def start_redis(
    testbed: Testbed,
    tools: Mapping[str, Path],
    arguments: Sequence[str | Path],
    *,
    name: str = "redis",
    password: str = "",
    core: int | None = None,
) -> Redis:
    """Starts a Redis with a configuration file or flags of its own."""
    port = free_port()
    folder = testbed.folder / name
    folder.mkdir()
    command = [tools["redis-server"], *arguments, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
    command += ["--requirepass", password] if password else []
    process = testbed.start(name, command, port, core=core)
    process.wait_until_listening()
    return Redis(process, tools["redis-cli"], password)
