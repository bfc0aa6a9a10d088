"""The servers of compose.yaml as plain processes, each started when its dependencies are there."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from testbed.databases import start_postgres, start_redis
from testbed.processes import Process, Testbed, free_port, wait_for
from testbed.programs import Failed, require, run

from .client import get

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
COMPOSE = (DEPLOY / "compose.yaml").read_text()
PROGRAMS = ["initdb", "nginx", "postgres", "prometheus", "psql", "redis-cli", "redis-server",
            "prometheus-blackbox-exporter", "prometheus-node-exporter", "prometheus-postgres-exporter",
            "prometheus-redis-exporter"]
# The label of every target, as in the files of deploy/prometheus.
LABELS = {"namespace": "local"}


class Deployment:
    """The running servers, with the settings of the files under deploy/."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.tools = require(PROGRAMS)
        self.instances: list[Process] = []
        # Chosen before the instances start, as their links to further pages have the address of nginx.
        self.port = free_port()
        self.prometheus_port = free_port()

    def start(self, binary: Path | None) -> None:
        """Starts everything; builds shunt where no binary is named."""
        binary = binary.resolve() if binary else build()
        settings = env_file(DEPLOY / "shunt.env") | {
            "BASE_URL": self.address, "DATABASE_URL": self.start_postgres(binary), "NO_MIGRATE": "true",
            "REDIS_URL": self.start_redis(), "JWT_SECRET": secrets.token_hex(32), "TRUSTED_PROXIES": "127.0.0.1",
            # One account makes all links, ten a second.
            "LIMIT_CREATE": "0", "LIMIT_MISSES": "0"}
        metrics = [self.start_instance(name, binary, settings) for name in ("shunt-1", "shunt-2")]
        for instance in self.instances:
            wait_until_ready(instance)
        self.start_nginx()
        self.start_exporters()
        self.start_prometheus(metrics)

    @property
    def address(self) -> str:
        """The public address."""
        return f"http://127.0.0.1:{self.port}"

    def start_postgres(self, binary: Path) -> str:
        """A cluster with the settings and roles of compose.yaml, migrated by its owner; returns the URL of its database
        for the role of the service."""
        settings = re.findall(r"-c (\w+=\S+)", COMPOSE)
        initdb = one(r"POSTGRES_INITDB_ARGS: (.+)", COMPOSE).split()
        server = start_postgres(self.testbed, self.tools, settings, initdb=initdb, password=secrets.token_hex(16))
        self.database = server.create("shunt")
        self.database.sql((DEPLOY / "postgres" / "10-roles.sql").read_text())
        password = secrets.token_hex(16)
        self.database.sql(f"ALTER ROLE shunt_service PASSWORD '{password}'")
        run([binary, "migrate"], environment={"DATABASE_URL": self.database.url})
        return f"postgres://shunt_service:{password}@127.0.0.1:{self.database.process.port}/shunt"

    def start_redis(self) -> str:
        """A Redis with the settings of redis.conf; returns its URL."""
        conf = DEPLOY / "redis" / "redis.conf"
        self.redis = start_redis(self.testbed, self.tools, [conf], password=secrets.token_hex(16))
        return self.redis.url

    def start_instance(self, name: str, binary: Path, settings: dict[str, str]) -> str:
        """An instance; returns the address of its metrics."""
        port, metrics = free_port(), f"127.0.0.1:{free_port()}"
        own = {"BIND": f"127.0.0.1:{port}", "METRICS_BIND": metrics}
        self.instances.append(self.testbed.start(name, [binary, "serve"], port, environment=settings | own))
        return metrics

    def start_nginx(self) -> None:
        """nginx with the files of deploy/nginx; its port and the instances' addresses are put in."""
        folder = self.testbed.folder / "nginx"
        folder.mkdir()
        conf = (DEPLOY / "nginx" / "nginx.conf").read_text()
        conf = replaced(r"listen 8080\b", f"listen 127.0.0.1:{self.port}", conf)
        shutil.copy(DEPLOY / "nginx" / "server.conf", folder)
        instances = (DEPLOY / "nginx" / "compose" / "instances.conf").read_text()
        # Debian's nginx is older than `resolve`, and addresses need no resolver.
        instances = replaced(r"resolver .*;\n", "", instances)
        for instance in self.instances:
            instances = replaced(rf"server {instance.name}:8000 resolve ",
                                 f"server 127.0.0.1:{instance.port} ", instances)
        (folder / "nginx.conf").write_text(conf)
        (folder / "instances.conf").write_text(instances)
        self.nginx = self.testbed.start(
            "nginx", [self.tools["nginx"], "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"], self.port,
            stop_signal=signal.SIGQUIT)
        self.nginx.wait_until_listening()

    def start_exporters(self) -> None:
        """The exporters of compose.yaml."""
        blackbox = DEPLOY / "prometheus" / "blackbox.yml"
        collectors = re.findall(r"--collector\.[\w-]+", COMPOSE)
        of_machine = one(r"(--include-system-metrics=\w+)", COMPOSE)
        self.exporters = {
            "redis": self.start_exporter("redis", [f"--redis.addr={self.redis.url}", of_machine]),
            "postgres": self.start_exporter(
                "postgres", [], {"DATA_SOURCE_NAME": self.database.url + "?sslmode=disable"}),
            "node": self.start_exporter("node", collectors),
            "blackbox": self.start_exporter("blackbox", [f"--config.file={blackbox}"]),
        }

    def start_exporter(self, name: str, flags: Sequence[str], environment: dict[str, str] | None = None) -> str:
        """An exporter; returns its address."""
        port = free_port()
        program = f"prometheus-{name}-exporter"
        command = [self.tools[program], f"--web.listen-address=127.0.0.1:{port}", *flags]
        self.testbed.start(program, command, port, environment=environment).wait_until_listening()
        return f"127.0.0.1:{port}"

    def start_prometheus(self, instances: Sequence[str]) -> None:
        """Prometheus with the files of deploy/prometheus; the targets' addresses are put in, and the runbook beside its page."""
        folder = self.testbed.folder / "prometheus"
        shutil.copytree(DEPLOY / "prometheus", folder)
        shutil.copy(DEPLOY / "runbook.md", folder / "pages")
        targets = {"targets": list(instances)} | {name: [self.exporters[name]] for name in ("redis", "postgres", "node")}
        for name, addresses in targets.items():
            (folder / f"{name}.yml").write_text(json.dumps([{"targets": addresses, "labels": LABELS}]))
        probe = {"targets": [f"{self.address}/health"], "labels": LABELS | {"exporter": self.exporters["blackbox"]}}
        (folder / "probes.yml").write_text(json.dumps([probe]))
        (folder / "alertmanagers.yml").write_text("[]")
        conf = folder / "prometheus.yml"
        own = f"127.0.0.1:{self.prometheus_port}"
        conf.write_text(replaced(r"localhost:9090", own, conf.read_text()))
        self.testbed.start("prometheus", [
            self.tools["prometheus"], f"--config.file={conf}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={own}", f"--web.external-url=http://{own}",
            f"--web.user-assets={folder / 'pages'}"], self.prometheus_port).wait_until_listening()

    def print_addresses(self) -> None:
        """Prints all addresses."""
        print(f"shunt       {self.address}   (explorer: {self.address}/docs)")
        for instance in self.instances:
            print(f"{instance.name}     http://127.0.0.1:{instance.port}")
        print(f"Prometheus  http://127.0.0.1:{self.prometheus_port}")
        print(f"logs        {self.testbed.folder}/*/*.log")
        print("Ctrl-C stops everything.", flush=True)

    def watch(self) -> None:
        """Waits; fails when a server ends by itself."""
        while True:
            for process in self.testbed.processes:
                process.check()
            time.sleep(0.5)


def wait_until_ready(instance: Process) -> None:
    """Waits until an instance takes traffic."""
    def ready() -> bool:
        response = get(instance.port, "/ready") if instance.listens() else None
        return response is not None and response.status == 200
    wait_for(f"{instance.name} is ready", ready, seconds=60)


def build() -> Path:
    """Builds shunt; returns its path."""
    print("building shunt", flush=True)
    run(["cargo", "build", "--quiet", "--locked", "--release", "--package", "shunt", "--bin", "shunt"],
        folder=ROOT, seconds=3600)
    return (ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "shunt").resolve()


def env_file(path: Path) -> dict[str, str]:
    """The lines NAME=VALUE of a file."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def one(pattern: str, text: str) -> str:
    """The group of a pattern's first match; there has to be one."""
    found = re.search(pattern, text)
    if found is None:
        raise Failed(f"compose.yaml has no match of `{pattern}`")
    return found[1]


def replaced(pattern: str, by: str, text: str) -> str:
    """`text` with every match replaced; there has to be one."""
    changed, count = re.subn(pattern, by, text)
    if count == 0:
        raise Failed(f"there is no match of `{pattern}`")
    return changed
