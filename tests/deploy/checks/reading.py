"""Reading the files under deploy/, and the source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .tools import DEPLOY, ROOT, package

PROMETHEUS = DEPLOY / "prometheus"
ALERTMANAGER = DEPLOY / "alertmanager" / "alertmanager.yml"


def loaded(path: Path) -> Any:
    """The first document of a YAML or JSON file."""
    return next(iter(documents(path.read_text())), None)


def documents(text: str) -> list[Any]:
    """All documents of a YAML text, merge keys resolved."""
    return list(package("yaml").safe_load_all(text))


def env_names(path: Path) -> list[str]:
    """The names set in an env file, including commented ones."""
    return re.findall(r"(?m)^#?([A-Z][A-Z0-9_]*)=", path.read_text())


def env_values(path: Path) -> dict[str, str]:
    """The values set in an env file."""
    return dict(re.findall(r"(?m)^([A-Z][A-Z0-9_]*)=(.*)$", path.read_text()))


def rules() -> list[dict[str, Any]]:
    """All rules of rules.yml."""
    return [rule for group in loaded(PROMETHEUS / "rules.yml")["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    """All alerts of rules.yml."""
    return [rule for rule in rules() if "alert" in rule]


def dashboards() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every dashboard, with its file's name."""
    for path in sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")):
        yield path.name, json.loads(path.read_text())


def queries(dashboard: dict[str, Any], *, filled: bool = True) -> list[str]:
    """Every expression of a dashboard, with its variables filled in, or as it is written."""
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    asked += [annotation["expr"] for annotation in dashboard["annotations"]["list"] if "expr" in annotation]
    if not filled:
        return asked
    values = {"$__rate_interval": "5m", "$instance": ".*", "$job": "shunt", "$namespace": ".*"}
    for variable, value in values.items():
        asked = [query.replace(variable, value) for query in asked]
    return asked


def source() -> str:
    """The Rust source."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.rs")))


def compose() -> dict[str, Any]:
    """compose.yaml with variables filled in and merge keys resolved, without extensions."""
    text = re.sub(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}", lambda found: found[2] or "x" * 32,
                  (DEPLOY / "compose.yaml").read_text())
    whole = documents(text)[0]
    return {key: value for key, value in whole.items() if not key.startswith("x-")}
