"""The contenders: how each gets its links and how it is started."""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from testbed.databases import Postgres, Redis
from testbed.processes import Process, free_port, wait_for
from testbed.programs import Command, Failed, run

from .accounting import cpu_of_threads, usage
from .api import Api
from .backends import start_postgres, start_redis
from .links import target
from .pinned import PinnedTestbed, say
from .tables import fill_postgres, fill_sqlite

SECRET = "a secret for measuring, and for nothing else"

# The line of settings for load tests (load/README.md): one address and one account do everything.
WITHOUT_LIMITS = {name: "0" for name in (
    "LIMIT_LOGIN", "LIMIT_LOGIN_FAILURES", "LIMIT_ACCOUNT_FAILURES", "LIMIT_REGISTER", "LIMIT_CREATE",
    "LIMIT_MISSES", "LINKS_PER_ACCOUNT", "MAX_CONNECTIONS_PER_ADDRESS")}


@dataclass
class Running:
    """A started contender with its servers."""

    server: Process
    port: int
    redis: Redis | None = None
    postgres: Postgres | None = None
    api: Api | None = None
    backlog: Callable[[], int] | None = None
    """How many batches of clicks are not yet in all tables, where the contender has them in a file."""

    def cpu_that_follows(self) -> float:
        """CPU seconds of the server's threads that answer no redirects: what a click costs beside its redirect."""
        return usage(self.server.pid).cpu - cpu_of_threads(self.server.pid, "worker-")

    def cpu(self) -> dict[str, float]:
        """CPU seconds used so far, by server."""
        self.server.check()
        used = {"server": usage(self.server.pid).cpu}
        if self.redis:
            used["redis"] = usage(self.redis.process.pid).cpu
        if self.postgres:
            used["postgres"] = usage(self.postgres.process.pid).cpu
        return used


@dataclass
class Contender(ABC):
    """A server to compare."""

    testbed: PinnedTestbed
    tools: dict[str, Path]
    programs: Path
    known: Sequence[str]
    name: ClassVar[str]

    def prepare(self) -> None:  # noqa: B027
        """Loads the links, once before the first start; some contenders need nothing."""

    @abstractmethod
    @contextmanager
    def running(self) -> Iterator[Running]:
        """Starts the contender, and ends it afterwards."""

    def serve(self, command: Command, port: int, environment: Mapping[str, str]) -> Process:
        """Starts a server on the server's core and waits until it listens."""
        process = self.testbed.start(self.name.replace(" ", "-"), command, port, environment=environment,
                                     core=self.testbed.server_core)
        process.wait_until_listening()
        return process


class Constant(Contender):
    """A bare axum route with a constant response."""

    name: ClassVar[str] = "constant"

    @contextmanager
    def running(self) -> Iterator[Running]:
        port = free_port()
        settings = {"BIND": f"127.0.0.1:{port}", "TARGET": target(0)}
        server = self.serve([self.programs / "constant"], port, settings)
        yield Running(server, port)
        self.testbed.stop(server)


class Nginx(Contender):
    """The same codes in a static `map`; nothing is counted."""

    name: ClassVar[str] = "nginx"

    def prepare(self) -> None:
        folder = self.testbed.folder / "nginx"
        folder.mkdir()
        self.folder = folder
        with (folder / "codes.map").open("w") as out:
            out.writelines(f"/{code} {target(number)};\n" for number, code in enumerate(self.known))

    @contextmanager
    def running(self) -> Iterator[Running]:
        port = free_port()
        (self.folder / "nginx.conf").write_text(f"""
daemon off;
worker_processes 1;
pid {self.folder}/nginx.pid;
error_log {self.folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    client_body_temp_path {self.folder}/body;
    proxy_temp_path {self.folder}/proxy;
    fastcgi_temp_path {self.folder}/fastcgi;
    uwsgi_temp_path {self.folder}/uwsgi;
    scgi_temp_path {self.folder}/scgi;
    map_hash_max_size 262144;
    map_hash_bucket_size 128;
    map $uri $target {{ default ""; include {self.folder}/codes.map; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            if ($target = "") {{ return 404; }}
            return 302 $target;
        }}
    }}
}}
""")
        command: list[str | Path] = [self.tools["nginx"], "-p", self.folder, "-c", self.folder / "nginx.conf",
                   "-e", self.folder / "error.log"]
        server = self.serve(command, port, {})
        yield Running(server, port)
        self.testbed.stop(server)


class Textbook(Contender):
    """Pooled `GET` and `INCR` per request, with a pool of its best size."""

    name: ClassVar[str] = "textbook"
    pool: ClassVar[dict[str, str]] = {"POOL_SIZE": "16"}

    def prepare(self) -> None:
        self.redis = start_redis(self.testbed, self.tools, f"redis-of-{self.name.replace(' ', '-')}")
        self.redis.ask("--pipe", text="".join(
            f"SET url:{code} {target(number)}\r\n" for number, code in enumerate(self.known)))

    @contextmanager
    def running(self) -> Iterator[Running]:
        port = free_port()
        settings = {"BIND": f"127.0.0.1:{port}", "REDIS_URL": self.redis.url} | self.pool
        server = self.serve([self.programs / "textbook"], port, settings)
        yield Running(server, port, redis=self.redis)
        self.testbed.stop(server)


class TextbookDefault(Textbook):
    """The same with the default pool of `deadpool-redis`."""

    name: ClassVar[str] = "textbook default"
    pool: ClassVar[dict[str, str]] = {}


@dataclass
class Shunt(Contender):
    """The base of both modes of shunt."""

    is_before: ClassVar[bool] = False
    """Whether this is another build, as a reference for the current one."""
    is_off: ClassVar[bool] = False
    """Whether this is the current build without classes of clicks, as a reference for one with them."""
    before: Path | None = None
    """The program of that build."""
    settings: dict[str, str] = field(default_factory=dict)
    redis: Redis | None = None
    postgres: Postgres | None = None
    token: str = ""
    complaints: list[str] = field(default_factory=list)

    @property
    def program(self) -> Path:
        """The program to start."""
        return self.before if self.is_before and self.before else self.programs / "shunt"

    @property
    def suffix(self) -> str:
        """A suffix that keeps the servers of two builds apart."""
        return "-before" if self.is_before else "-off" if self.is_off else ""

    @abstractmethod
    def backends(self) -> dict[str, str]:
        """Starts the servers of this mode; returns the settings with their addresses."""

    @abstractmethod
    def fill(self, owner: int) -> None:
        """Writes the links to the database."""

    def prepare(self) -> None:
        own = {"JWT_SECRET": SECRET, "RUST_LOG": "warn"} | WITHOUT_LIMITS
        self.settings = self.backends() | own | self.settings
        run([self.program, "migrate"], environment=self.settings)
        with self.running() as running:
            assert running.api
            owner = self.enrol(running.api)
        self.fill(owner)

    def enrol(self, api: Api) -> int:
        """Registers the account whose links are counted; returns its id."""
        owner = api.register("load@example.com")
        self.token = api.token
        return owner

    def backlog(self) -> Callable[[], int] | None:
        """Counts the batches that are not yet in all tables."""
        return None

    def calm_down(self) -> None:
        """Waits until no trace of an earlier instance is left."""

    @contextmanager
    def running(self, **settings: str) -> Iterator[Running]:
        self.calm_down()
        port = free_port()
        own = {"BIND": f"127.0.0.1:{port}", "BASE_URL": "https://sho.rt"}
        server = self.serve([self.program], port, self.settings | own | settings)
        api = Api(port, self.token)
        wait_for(f"{self.name} is ready", api.is_ready)
        yield Running(server, port, self.redis, self.postgres, api, self.backlog())
        is_killed = server not in self.testbed.processes
        exit_code = 0 if is_killed else self.testbed.stop(server)
        # The last flush may log warnings, too.
        if complaints := complaints_in(server.log):
            self.complaints += complaints
            say(f"  {self.name} logged {len(complaints)} warnings, such as: {complaints[0]}")
        if exit_code != 0:
            raise Failed(f"{self.name} ended with code {exit_code}, not 0")


class Production(Shunt):
    """Postgres and Redis; every click acknowledged by Redis."""

    name: ClassVar[str] = "shunt"

    def backends(self) -> dict[str, str]:
        self.redis = self.redis or start_redis(self.testbed, self.tools, f"redis{self.suffix}")
        self.postgres = self.postgres or start_postgres(self.testbed, self.tools, f"postgres{self.suffix}")
        return {"DATABASE_URL": self.postgres.url, "REDIS_URL": self.redis.url,
                "REDIS_PREFIX": self.postgres.database}

    def calm_down(self) -> None:
        """Waits for the end of the last flush lease. Until then a new instance would not flush, and its CPU per redirect
        would lack the cost of the write-back."""
        assert self.redis and self.postgres
        redis, lease = self.redis, "{" + self.postgres.database + "}:flusher"
        wait_for("no instance has the lease on flushing", lambda: redis.ask("EXISTS", lease) == "0")

    def fill(self, owner: int) -> None:
        assert self.postgres
        fill_postgres(self.postgres, self.known, owner)


class Embedded(Shunt):
    """SQLite alone; every click acknowledged by its commit."""

    name: ClassVar[str] = "shunt embedded"

    def backends(self) -> dict[str, str]:
        folder = self.testbed.folder / f"sqlite{self.suffix}"
        folder.mkdir()
        self.file = folder / "shunt.db"
        return {"DATABASE_URL": f"sqlite://{self.file}"}

    def backlog(self) -> Callable[[], int] | None:
        def batches() -> int:
            with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
                tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
                # The build before may copy classes into tables of their own.
                waiting = tables & {"click_journal", "click_details_of_owners", "click_detail_queue", "click_details_taken"}
                counts = (database.execute(f"SELECT count(*) FROM {table}") for table in waiting)
                return sum(rows for count in counts for (rows,) in count)
        return batches

    def fill(self, owner: int) -> None:
        fill_sqlite(self.file, self.known, owner)


class ProductionOff(Production):
    """Production mode without classes of clicks."""

    name: ClassVar[str] = "shunt off"
    is_off: ClassVar[bool] = True

    def backends(self) -> dict[str, str]:
        return super().backends() | {"ANALYTICS": "off"}


class ProductionBefore(Production):
    """Another build in production mode."""

    name: ClassVar[str] = "shunt before"
    is_before: ClassVar[bool] = True


class EmbeddedBefore(Embedded):
    """Another build in embedded mode."""

    name: ClassVar[str] = "shunt embedded before"
    is_before: ClassVar[bool] = True


def complaints_in(log: Path) -> list[str]:
    """Warnings and errors in a log."""
    return [line for line in log.read_text(errors="replace").splitlines() if re.search(r"\b(WARN|ERROR)\b", line)]


CONTENDERS: dict[str, type[Contender]] = {
    "shunt": Production,
    "shunt-off": ProductionOff,
    "shunt-embedded": Embedded,
    "nginx": Nginx,
    "constant": Constant,
    "textbook": Textbook,
    "textbook-default": TextbookDefault,
}

BEFORE: dict[type[Contender], type[Shunt]] = {Production: ProductionBefore, Embedded: EmbeddedBefore}
"""The contender of another build, for each mode."""
