"""Checks that memory, connections and versions of the deployment fit each other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .reading import compose, documents, env_values, loaded
from .tools import DEPLOY, ROOT, need, nothing_in, tool

# Cores of a large machine, on which the defaults of the program are largest.
CORES = 64
# What an instance takes beside cached links and passwords: the program, connections, and a MiB for each thread.
REST = (128 + CORES) << 20
# `max_connections` of a Postgres as installed, and what it keeps of them for its superuser.
STOCK_CONNECTIONS, RESERVED = 100, 3
# Connections beside those of pods: an exporter takes up to three, a `migrate` one.
OTHERS = 3 + 1
# Where Debian has its versions of Postgres.
POSTGRES = Path("/usr/lib/postgresql")
# Pods that still end during a rollout: a pod ends within some seconds, and the next one takes as many to become ready.
ENDING = 2


def memory_fits_a_large_machine() -> None:
    """On a machine of 64 cores cached links and passwords that are hashed fit into every limit of memory."""
    base = DEPLOY / "kubernetes/base"
    kubernetes = env_values(base / "shunt.env")
    overlay = loaded(DEPLOY / "kubernetes/overlays/example/kustomization.yaml")
    patch = documents(overlay["patches"][0]["patch"])[0][0]
    literals = dict(one.split("=", 1) for one in overlay["configMapGenerator"][0]["literals"])
    pod = loaded(base / "deployment.yaml")["spec"]["template"]["spec"]["containers"][0]
    unit = (DEPLOY / "systemd" / "shunt.service").read_text()
    places = {
        "compose.yaml": (env_values(DEPLOY / "shunt.env"),
                         compose()["services"]["shunt-1"]["deploy"]["resources"]["limits"]["memory"]),
        "kubernetes/base": (kubernetes, pod["resources"]["limits"]["memory"]),
        "overlays/example": (kubernetes | literals, patch["value"]["limits"]["memory"]),
        "shunt.service": (env_values(DEPLOY / "systemd/shunt.env.example"),
                          (re.search(r"(?m)^MemoryMax=(\S+)$", unit) or ["", "0"])[1]),
    }
    source = (ROOT / "src/passwords/mod.rs").read_text()
    found = re.search(r"const MEMORY_KIB: u32 = (\d+) \* 1024;", source)
    hash_bytes = int(found[1] if found else 0) << 20
    found = re.search(r"one cached in the process takes (\d+) bytes", (DEPLOY / "scaling.md").read_text())
    link_bytes = int(found[1] if found else 0)
    need(hash_bytes and link_bytes, "the size of a hash or of a link is not found")
    for name, (settings, limit) in places.items():
        hashing = int(settings.get("HASHING_CONCURRENCY", CORES // 2))
        links = int(settings.get("CACHE_MAX_LINKS", 1_000_000))
        taken = hashing * hash_bytes + links * link_bytes + REST
        need(taken <= bytes_of(limit), f"{name}: {taken >> 20} MiB on {CORES} cores, of {limit}")


def bytes_of(limit: str) -> int:
    """A limit of memory as compose, Kubernetes and systemd write it."""
    number, unit = re.fullmatch(r"(\d+)([a-zA-Z]*)", limit).groups()  # type: ignore[union-attr]
    return int(number) << {"m": 20, "g": 30}[unit[0].lower()]


def connections_fit_a_stock_postgres() -> None:
    """The connections of as many pods as the autoscaler allows, also during a rollout, fit a Postgres as installed."""
    base = DEPLOY / "kubernetes/base"
    pods = loaded(base / "horizontalpodautoscaler.yaml")["spec"]["maxReplicas"]
    pods += loaded(base / "deployment.yaml")["spec"]["strategy"]["rollingUpdate"]["maxSurge"] + ENDING
    each = int(env_values(base / "shunt.env")["DATABASE_MAX_CONNECTIONS"])
    taken = pods * each + OTHERS + RESERVED
    need(taken <= STOCK_CONNECTIONS, f"{pods} pods with {each} connections: {taken} of {STOCK_CONNECTIONS}")
    of_postgres = int((re.search(r"max_connections=(\d+)", compose()["services"]["postgres"]["command"]) or ["", "0"])[1])
    each = int(env_values(DEPLOY / "shunt.env")["DATABASE_MAX_CONNECTIONS"])
    need(2 * each + OTHERS + RESERVED <= of_postgres, "the connections of compose.yaml")


def compose_runs_the_postgres_of_the_tests() -> None:
    """Postgres in compose.yaml is of the version that the tests run, and that README.md names."""
    image = compose()["services"]["postgres"]["image"]
    version = (re.search(r"^postgres:(\d+)", image) or ["", ""])[1]
    readme = (DEPLOY / "README.md").read_text()
    need(f"(tested with {version})" in readme, f"README.md does not say: tested with {version}")
    # As tests/run chooses it: the newest.
    installed = sorted(int(path.parent.parent.name) for path in POSTGRES.glob("*/bin/initdb"))
    initdb = POSTGRES / str(installed[-1]) / "bin" / "initdb" if installed else tool("initdb", "Debian's package postgresql")
    output = subprocess.run([initdb, "--version"], capture_output=True, text=True, check=True).stdout
    here = (re.search(r" (\d+)", output) or ["", ""])[1]
    need(here == version, f"{image}, but the tests run Postgres {here}")


def base_images_are_pinned() -> None:
    """Every base image of the Dockerfile is named by version and digest, and both are of one release of Debian."""
    images = re.findall(r"(?m)^FROM (\S+)", (DEPLOY / "Dockerfile").read_text())
    need(len(images) == 2, f"{len(images)} base images")
    nothing_in([image for image in images if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)], "not pinned")
    need("trixie" in images[0] and "debian13" in images[1], "the binary would meet another C library than at its build")
