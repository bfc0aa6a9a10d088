"""Checks that the files and texts agree with each other and with the program."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .reading import compose, documents, env_names, env_values, loaded, source
from .tools import DEPLOY, ROOT, need, nothing_in

# The shortest secret that the program accepts, in bytes.
SECRET = 32


def all_files_parse() -> None:
    """YAML and JSON parse."""
    for path in sorted(DEPLOY.rglob("*")):
        if path.suffix in (".yml", ".yaml"):
            documents(path.read_text())
        elif path.suffix == ".json":
            json.loads(path.read_text())


def settings_exist() -> None:
    """Every setting in the deploy files is one of the program's."""
    known = set(re.findall(r'env = "([A-Z0-9_]+)"', source()))
    used: dict[str, list[str]] = {
        "shunt.env": env_names(DEPLOY / "shunt.env"),
        "shunt.env.example": env_names(DEPLOY / "systemd" / "shunt.env.example"),
        "kubernetes base": env_names(DEPLOY / "kubernetes" / "base" / "shunt.env"),
        "secret.env.example": env_names(DEPLOY / "kubernetes/overlays/example/secret.env.example"),
        "migrate.env.example": env_names(DEPLOY / "kubernetes/overlays/example/migrate.env.example"),
        "compose.yaml": list(compose()["services"]["shunt-1"]["environment"]),
        "Dockerfile": re.findall(r"(?m)^(?:ENV| {3,}) ?([A-Z_]+)=", (DEPLOY / "Dockerfile").read_text()),
    }
    generated = loaded(DEPLOY / "kubernetes/overlays/example/kustomization.yaml")["configMapGenerator"]
    used["kustomization.yaml"] = [one.split("=")[0] for one in generated[0]["literals"]]
    nothing_in([f"{name} in {file}" for file, names in used.items() for name in names if name not in known],
               "settings that src/config/ does not have")


def examples_hold_no_secret() -> None:
    """The examples lack a valid secret, so a copy without one refuses to start."""
    given = {str(path.relative_to(DEPLOY)): re.findall(r"(?m)^#? ?JWT_SECRET=(.*)$", path.read_text())
             for path in sorted(DEPLOY.rglob("*.example")) if path.name != "exporters.env.example"}
    nothing_in([name for name, values in given.items() if not values and "migrate" not in name],
               "an example without JWT_SECRET")
    nothing_in([name for name, values in given.items() for value in values if len(value.encode()) >= SECRET],
               "an example whose JWT_SECRET would pass")


def supervisors_wait_for_a_stop() -> None:
    """Every supervisor waits longer than a stop takes."""
    settings = env_values(DEPLOY / "shunt.env")
    takes = int(settings["SHUTDOWN_TIMEOUT_SECONDS"])
    for name in ("shunt-1", "shunt-2"):
        waits = int(compose()["services"][name]["stop_grace_period"].removesuffix("s"))
        need(waits > takes, f"{name}: {waits} s are too short")
    pod = loaded(DEPLOY / "kubernetes/base/deployment.yaml")["spec"]["template"]["spec"]
    takes = int(env_values(DEPLOY / "kubernetes/base/shunt.env")["SHUTDOWN_TIMEOUT_SECONDS"])
    takes += pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    need(pod["terminationGracePeriodSeconds"] > takes, "terminationGracePeriodSeconds is too short")
    unit = (DEPLOY / "systemd" / "shunt.service").read_text()
    waits = int((re.search(r"(?m)^TimeoutStopSec=(\d+)s$", unit) or ["", "0"])[1])
    takes = int(env_values(DEPLOY / "systemd/shunt.env.example")["SHUTDOWN_TIMEOUT_SECONDS"])
    need(waits > takes, "TimeoutStopSec is too short")


def supervisors_wait_for_a_start() -> None:
    """Every supervisor waits longer than an instance waits at its start, for Postgres and then for Redis."""
    timeouts = re.findall(r"const \w+_TIMEOUT: Duration = Duration::from_secs\((\d+)\);",
                           (ROOT / "src/server/startup.rs").read_text())
    takes = sum(map(int, timeouts))
    need(takes > 0, "src/server/startup.rs has no time-outs")
    pod = loaded(DEPLOY / "kubernetes/base/deployment.yaml")["spec"]["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]
    need(probe["periodSeconds"] * probe["failureThreshold"] > takes, "the startup probe gives up too early")
    for name in ("shunt-1", "shunt-2"):
        waits = int(compose()["services"][name]["healthcheck"]["start_period"].removesuffix("s"))
        need(waits > takes, f"{name}: a start period of {waits} s is too short")


def nginx_takes_redirects_alone_for_redirects() -> None:
    """The location of codes, which has no limit of requests and retries a 503, is that of no other route's work."""
    conf = (DEPLOY / "nginx" / "server.conf").read_text()
    codes = re.compile((re.search(r'(?m)^location ~ "(.+)" \{$', conf) or ["", "$^"])[1])
    table = (ROOT / "src/http/paths.rs").read_text()
    named = dict(re.findall(r'const (\w+): &str = "([^"]+)";', table))
    routes = [(named.get(path, path.strip('"')), work) for path, work in re.findall(r'route\(([^,()]+), Class::(\w+)\)', table)]
    need(len(routes) > 60 and codes.match("/K7mXq2R") and codes.match("/urls/r/app"), "codes are not found")
    nothing_in([path for path, work in routes if work in ("Bounded", "Queued") and codes.match(path)], "taken for codes by nginx")


def links_between_documents_resolve() -> None:
    """Links between the texts lead to existing files and sections."""
    for path in [*DEPLOY.glob("*.md"), ROOT / "SECURITY.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text()):
            file, _, section = target.partition("#")
            there = path.parent / file if file else path
            need(there.exists(), f"{path.name}: {target}")
            need(not section or section in anchors(there), f"{path.name}: {target}")


def anchors(path: Path) -> set[str]:
    """The anchors of a text's sections."""
    titles = re.findall(r"(?m)^#+ (.+)$", path.read_text())
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def tests_of_guarantees_exist() -> None:
    """Every test that guarantees.md and SECURITY.md name exists. `metrics_exist` checks their names of metrics."""
    files = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*"))
             if path.is_file() and path.suffix in (".rs", ".py", "") and Path(__file__).parent not in path.parents]
    tests = "\n".join(path.read_text(errors="replace") for path in files)
    named = []
    for document in (DEPLOY / "guarantees.md", ROOT / "SECURITY.md"):
        names = re.findall(r"`((?!shunt_)[a-z0-9]+(?:_[a-z0-9]+){4,})`", document.read_text())
        need(len(names) > 10, f"{document.name} names too few tests")
        named += names
    missing = [name for name in named
               if not any(f"{word}{name}" in tests for word in ("fn ", "def ", "mod "))]
    nothing_in(missing, "tests that do not exist")
