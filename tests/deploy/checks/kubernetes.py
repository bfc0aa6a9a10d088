"""The manifests of Kubernetes."""

from __future__ import annotations

import re
import shutil

from .reading import documents, loaded
from .tools import DEPLOY, need, note, nothing_in, run, temporary, tool

# The oldest version that the manifests support, and the newest that the validator knows.
KUBERNETES = ["1.30", ""]
HOSTS = DEPLOY / "kubernetes/overlays/example/hosts.yaml"
# Kinds of the Prometheus Operator, for which the validator has no schema.
FOREIGN = {"ServiceMonitor", "PrometheusRule", "Probe"}


def manifests_follow_their_schemas() -> None:
    """The example overlay builds, and every object follows its schema, strictly."""
    validator = tool("kubernetes-validate", "the Python package")
    path = temporary() / "manifests.yaml"
    # Beside them what the example has only as a comment.
    path.write_text(manifests() + "\n---\n" + HOSTS.read_text())
    for version in KUBERNETES:
        chosen = ["-k", version] if version else []
        output = run(validator, "--strict", *chosen, path, quiet_about="passed for resource")
        unknown = set(re.findall(r"find schema for kind (\w+)", output))
        nothing_in(sorted(unknown - FOREIGN), "kinds without a schema")
        passed = len(re.findall(r"(?m)passed for resource", output))
        need(passed >= 10, f"only {passed} objects were validated")


def other_hosts_have_the_rules_of_the_first() -> None:
    """Every host of the example has a certificate, and all its paths lead to the service, as those of the first host do."""
    (hosts,) = documents(HOSTS.read_text())
    first = documents((DEPLOY / "kubernetes/overlays/example/ingress.yaml").read_text())[0]
    rules, (own,) = hosts["spec"]["rules"], first["spec"]["rules"]
    certified = [host for entry in hosts["spec"]["tls"] for host in entry["hosts"]]
    need(certified == [rule["host"] for rule in rules], "hosts.yaml: a host without a certificate, or without a rule")
    need(all(rule["http"] == own["http"] for rule in rules), "hosts.yaml: a host whose paths lead elsewhere")
    lines = (DEPLOY / "kubernetes/overlays/example/kustomization.yaml").read_text()
    need("#- hosts.yaml" in lines, "kustomization.yaml does not name hosts.yaml")


def manifests() -> str:
    """The manifests that `kubectl apply --kustomize` would send."""
    folder = temporary() / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", folder)
    overlay = folder / "overlays" / "example"
    for name in ("secret.env", "migrate.env", "exporters.env"):
        shutil.copy(overlay / f"{name}.example", overlay / name)
    if shutil.which("kubectl"):
        return run("kubectl", "kustomize", overlay)
    if shutil.which("kustomize"):
        return run("kustomize", "build", overlay)
    # Without either tool: the objects of the files. Names and patches are not tested then.
    note("neither kubectl nor kustomize is installed: the overlay's patches are not tested")
    paths = [overlay / one for one in loaded(overlay / "kustomization.yaml")["resources"] if "base" not in one]
    paths += [folder / "base" / one for one in loaded(folder / "base" / "kustomization.yaml")["resources"]]
    return "\n---\n".join(path.read_text() for path in paths)


def pods_are_hardened() -> None:
    """Pods are unprivileged and have a read-only root, probes and limits."""
    exporters = documents((DEPLOY / "kubernetes/overlays/example/exporters.yaml").read_text())
    deployments = [loaded(DEPLOY / "kubernetes/base/deployment.yaml")]
    deployments += [one for one in exporters if one["kind"] == "Deployment"]
    need(len(deployments) == 4, f"{len(deployments)} deployments")
    for deployment in deployments:
        name, pod = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
        need(pod["securityContext"]["runAsNonRoot"] is True, f"{name}: pods may run as root")
        need(pod["automountServiceAccountToken"] is False, f"{name}: pods get a token of the cluster")
        for container in pod.get("initContainers", []) + pod["containers"]:
            context = container["securityContext"]
            need(context["readOnlyRootFilesystem"] is True and context["allowPrivilegeEscalation"] is False
                 and context["capabilities"]["drop"] == ["ALL"], f"{name} {container['name']}: its security context")
            need("memory" in container["resources"]["limits"], f"{name} {container['name']}: no limit of memory")
            need(container["image"] == "shunt" or re.search(r":v[\d.]+", container["image"]),
                 f"{name}: an image without a version")
    pod = deployments[0]["spec"]["template"]["spec"]
    probes = {name: pod["containers"][0][name]["httpGet"]["path"]
              for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    need(list(probes.values()) == ["/health", "/health", "/ready"], str(probes))
