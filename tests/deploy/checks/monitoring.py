"""Rules, alerts and dashboards."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from .agreement import anchors
from .reading import (ALERTMANAGER, PROMETHEUS, alerts, compose, dashboards, documents, env_values, loaded, queries, rules,
                      source)
from .tools import DEPLOY, ROOT, need, nothing_in, run, temporary, tool

# Where the alerts lead: as installed, and in the example of Kubernetes.
RUNBOOK_PAGE = "{{ externalURL }}/user/runbook.html#"
RUNBOOK = "https://git.example.com/shunt/deploy/runbook.md"


def runbook_page_shows_every_section() -> None:
    """A browser shows the runbook on that page: every section with its anchor, and every row of every table."""
    chromium = tool("chromium", "Debian's package chromium")
    folder = temporary()
    shutil.copy(PROMETHEUS / "pages" / "runbook.html", folder)
    shutil.copy(DEPLOY / "runbook.md", folder)
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
        shown = run(chromium, *flags, f"http://127.0.0.1:{server.server_port}/runbook.html")
        server.shutdown()
    text = (DEPLOY / "runbook.md").read_text()
    nothing_in([anchor for anchor in anchors(DEPLOY / "runbook.md") if f'id="{anchor}"' not in shown], "not on the page")
    lines = [line for line in text.splitlines() if line.startswith("|") and not re.fullmatch(r"[| -]+", line)]
    need(lines and shown.count("<tr><td>") == len(lines), f"{shown.count('<tr><td>')} of {len(lines)} rows of tables")


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def promtool_accepts_the_rules() -> None:
    """promtool: configuration, rules, and their tests."""
    promtool = tool("promtool", "Debian's package prometheus")
    run(promtool, "check", "config", "prometheus.yml", folder=PROMETHEUS)
    run(promtool, "check", "rules", "rules.yml", folder=PROMETHEUS)
    # Promtool of before Prometheus 3 knows no address of Prometheus.
    folder = temporary()
    text = (PROMETHEUS / "rules.yml").read_text().replace("{{ externalURL }}", "http://localhost:9090")
    (folder / "rules.yml").write_text(text)
    shutil.copy(PROMETHEUS / "rules_test.yml", folder)
    run(promtool, "test", "rules", "rules_test.yml", folder=folder)


def rules_are_by_job_and_namespace() -> None:
    """Every rule and every query of the dashboard selects instances by job, and groups by job and namespace: several
    environments may share a Prometheus."""
    asked = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]
    for name, expression in asked:
        for metric, labels in re.findall(r"\b(shunt_[a-z_]+|up|process_[a-z_]+)\b(?:\{([^}]*)\})?", expression):
            need('job="shunt"' in labels or 'job=~"shunt-' in labels, f"{name}: {metric} of any job")
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            need(grouped.startswith("job, namespace"), f"{name}: grouped by {grouped}")
        aggregated = re.findall(r"\b(?:sum|min|max|avg|count)\s*\(", expression)
        nothing_in(aggregated, f"{name}: not grouped")
    for name, dashboard in dashboards():
        for query in queries(dashboard, filled=False):
            for metric, labels in re.findall(r"\b(shunt_[a-z_]+|up|process_[a-z_]+)\b(?:\{([^}]*)\})?", query):
                selects = 'job="$job"' in labels and 'namespace=~"$namespace"' in labels
                need(selects, f"{name}: {metric} of any job or namespace: {query}")
        variables = [variable["name"] for variable in dashboard["templating"]["list"]]
        need({"job", "namespace", "instance"} <= set(variables), f"{name}: variables {variables}")


def scraped_services_exist() -> None:
    """Every exporter in the files of targets is a service of compose.yaml, on a network of Prometheus; its job is one that the
    rules select."""
    services = compose()["services"]
    jobs = {job["job_name"]: job for job in loaded(PROMETHEUS / "prometheus.yml")["scrape_configs"]}
    selected = set(re.findall(r'job="(shunt[a-z-]*)"', (PROMETHEUS / "rules.yml").read_text()))
    nothing_in(sorted(selected - set(jobs)), "jobs of rules that nothing scrapes")
    for name, job in jobs.items():
        for file in [file for found in job.get("file_sd_configs", []) for file in found["files"]]:
            for group in loaded(PROMETHEUS / file):
                need(group["labels"].get("namespace"), f"{file} has no namespace")
                targets = [group["labels"]["exporter"]] if name == "shunt-probe" else group["targets"]
                for target in targets:
                    host = target.partition(":")[0]
                    need(host in services, f"{file}: {target} is not in compose.yaml")
                    need("monitoring" in services[host]["networks"], f"{target} is on no network of Prometheus")
    here, there = PROMETHEUS / "blackbox.yml", DEPLOY / "kubernetes/overlays/example/blackbox.yml"
    need(here.read_text() == there.read_text(), "the two files blackbox.yml differ")


def runbook_urls_lead_to_the_served_page() -> None:
    """Prometheus of compose.yaml serves the page to which the alerts lead, with the runbook beside it."""
    service = compose()["services"]["prometheus"]
    need("--web.user-assets=/pages" in service["command"], "Prometheus serves no pages")
    for place in ("./prometheus/pages/runbook.html:/pages/runbook.html:ro", "./runbook.md:/pages/runbook.md:ro"):
        need(place in service["volumes"], f"compose.yaml lacks {place}")
    page = (PROMETHEUS / "pages" / "runbook.html").read_text()
    need('fetch("runbook.md")' in page, "the page does not show the runbook")


def alerts_have_receivers() -> None:
    """Prometheus knows the Alertmanager of compose.yaml, which has a receiver for each severity that needs one."""
    services = compose()["services"]
    for group in loaded(PROMETHEUS / "alertmanagers.yml"):
        for target in group["targets"]:
            name, _, port = target.partition(":")
            known = name in services and services[name]["ports"][0].endswith(f":{port}")
            need(known, f"{target} is not in compose.yaml")
            shared = set(services[name]["networks"]) & set(services["prometheus"]["networks"])
            need(shared, f"{target} is on no network of Prometheus")
    config = loaded(ALERTMANAGER)
    need(config["route"]["routes"][0]["matchers"] == ['alertname="Watchdog"'], "the watchdog has no route of its own")
    receivers = [receiver["name"] for receiver in config["receivers"]]
    chosen = {matcher: route["receiver"] for route in config["route"]["routes"] for matcher in route["matchers"]}
    nothing_in([name for name in chosen.values() if name not in receivers], "receivers that do not exist")
    nothing_in([severity for severity in ("critical", "warning") if f'severity="{severity}"' not in chosen],
    "alerts without a receiver")
    runbook = (DEPLOY / "runbook.md").read_text()
    nothing_in([name for name in chosen.values() if f"`{name}`" not in runbook], "receivers that the runbook does not name")


def amtool_accepts_the_configuration() -> None:
    """amtool: Alertmanager's configuration."""
    run(tool("amtool", "Debian's package prometheus-alertmanager"), "check-config", ALERTMANAGER)


def alerts_are_tested_and_explained() -> None:
    """Every alert has a test in which it fires, one in which it does not, and a section in the runbook."""
    names = [alert["alert"] for alert in alerts()]
    nothing_in(sorted({name for name in names if names.count(name) > 1}), "alerts of the same name")
    runbook = (DEPLOY / "runbook.md").read_text()
    sections = re.findall(r"(?m)^### (Shunt\w+|Watchdog)$", runbook)
    nothing_in(sorted(set(names) ^ set(sections)), "only an alert, or only a section in the runbook")
    for section in re.split(r"(?m)^### (?=Shunt|Watchdog)", runbook)[1:]:
        lacking = [word for word in ("**Means:**", "**Look at:**", "**Do:**") if word not in section]
        nothing_in(lacking, f"{section.split()[0]} lacks in the runbook")
    tests = loaded(PROMETHEUS / "rules_test.yml")["tests"]
    expectations = [test for case in tests for test in case.get("promql_expr_test", [])]
    for alert in alerts():
        name = alert["alert"]
        asking = [test for test in expectations if asks_for(test["expr"], name)]
        fires = [test for test in asking if any(f'"{name}"' in one["labels"] for one in test["exp_samples"])]
        need(fires, f"{name}: no test in which it fires")
        quiet = [test for test in asking if not test["exp_samples"]]
        several = [test for test in fires if name == "ShuntRestarts"]  # One instance fires, the other does not.
        need(quiet or several or name == "Watchdog", f"{name}: no test in which it is quiet")
        need(alert["annotations"].get("runbook_url") == RUNBOOK_PAGE + name.lower(), f"{name}: its runbook_url leads elsewhere")
        severities = ("none",) if name == "Watchdog" else ("critical", "warning", "info")
        need(alert["labels"]["severity"] in severities, f"{name}: severity")
        nothing_in([key for key in ("summary", "description") if not alert["annotations"].get(key)],
                   f"{name} lacks")


def asks_for(expression: str, name: str) -> bool:
    """Whether an expression on ALERTS is about an alert."""
    found = re.search(r'alertname(=~?)"([^"]*)"', expression)
    return bool(found and re.fullmatch(found[2], name))


def dashboard_queries_parse() -> None:
    """promtool parses every query of the dashboards; panels have ids of their own."""
    promtool = tool("promtool", "Debian's package prometheus")
    for name, dashboard in dashboards():
        ids = [panel["id"] for panel in dashboard["panels"]]
        need(len(ids) == len(set(ids)), f"{name}: panels with the same id")
        recorded = [{"record": f"query:{number}", "expr": query}
                    for number, query in enumerate(queries(dashboard))]
        path = temporary() / "queries.json"
        path.write_text(json.dumps({"groups": [{"name": name, "rules": recorded}]}))
        run(promtool, "check", "rules", path)


def metrics_exist() -> None:
    """Rules and dashboards use only metrics of the source."""
    known = set(re.findall(r'"(shunt_[a-z_]+)"', source()))
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    asked = " ".join([rule["expr"] for rule in rules()]
                     + [query for _, dashboard in dashboards() for query in queries(dashboard)])
    for name in recorded:
        asked = asked.replace(name, "")
    used = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bshunt_[a-z_]+", asked)}
    nothing_in(sorted(used - known), "metrics that src/ does not have")


def prometheusrule_is_generated() -> None:
    """The PrometheusRule of the overlay is the generator's output for the rules.yml of today."""
    committed = DEPLOY / "kubernetes/overlays/example/prometheusrule.yaml"
    generated = run(DEPLOY / "kubernetes" / "prometheusrule", RUNBOOK)
    need(committed.read_text() == generated, f"run deploy/kubernetes/prometheusrule {RUNBOOK} >"
         " deploy/kubernetes/overlays/example/prometheusrule.yaml")
    rules_there = committed.read_text().replace(RUNBOOK + "#", RUNBOOK_PAGE)
    need(documents(rules_there)[0]["spec"] == loaded(PROMETHEUS / "rules.yml"), "the generator changes the rules")


def metrics_have_one_port() -> None:
    """METRICS_BIND, every address that leads there, and the README have one port."""
    deployment = loaded(DEPLOY / "kubernetes/base/deployment.yaml")["spec"]["template"]["spec"]
    service = documents((DEPLOY / "kubernetes/base/service.yaml").read_text())[1]["spec"]
    places = {
        "compose.yaml": compose()["services"]["shunt-1"]["environment"]["METRICS_BIND"],
        "systemd": env_values(DEPLOY / "systemd/shunt.env.example")["METRICS_BIND"],
        "kubernetes": env_values(DEPLOY / "kubernetes/base/shunt.env")["METRICS_BIND"],
        "README.md": (re.search(r" METRICS_BIND=(\S+)", (ROOT / "README.md").read_text()) or ["", ""])[1],
        **{f"deployment.yaml {port['name']}": f":{port['containerPort']}"
           for port in deployment["containers"][0]["ports"] if port["name"] == "metrics"},
        **{f"service.yaml {port['name']}": f":{port['port']}" for port in service["ports"]},
        **{f"targets.yml {target}": target
           for group in loaded(PROMETHEUS / "targets.yml") for target in group["targets"]},
    }
    need(len({place.rpartition(":")[2] for place in places.values()}) == 1, f"several ports: {places}")
