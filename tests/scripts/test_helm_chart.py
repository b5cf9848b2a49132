"""The Helm chart: Helm's own engine lints and renders it, and Kubernetes' schemas check what it renders."""

import helm_python
import kubernetes_validate
import pytest
import yaml

from tests.conftest import ROOT

CHART = ROOT / "deploy" / "helm" / "assay"
#: The oldest version of Kubernetes that the chart supports has sidecar containers, as does the newest.
VERSIONS = ("1.29", "1.33")


def render(**values):
    """Return the manifests, and check each."""
    rendered = helm_python.Chart.load(CHART).render(values, name="demo", namespace="prod")
    texts = [text for name, text in rendered.items() if name.endswith(".yaml")]
    manifests = [one for text in texts for one in yaml.safe_load_all(text) if one]
    for manifest in manifests:
        for version in VERSIONS:
            kubernetes_validate.validate(manifest, version, strict=True)
    return manifests


def test_chart_is_valid_with_and_without_its_options():
    report = helm_python.lint(CHART, strict=True)
    assert [one for one in report["messages"] if one["severity"] > 1] == report["errors"] == []
    more = render(
        web={"autoscaling": {"enabled": True}},
        files={"existingClaim": "mine"},
        image={"digest": f"sha256:{'0' * 64}"},
        settings={"LOG_LEVEL": "INFO"},
    )
    less = render(ingress={"enabled": False}, networkPolicy={"enabled": False})
    optional = {"HorizontalPodAutoscaler", "Ingress", "NetworkPolicy"}
    assert optional <= {one["kind"] for one in more}
    direct = {"enabled": True, "existingClaim": "safe", "databaseUrl": "postgres://a@b/c"}
    [backup] = [one for one in render(backup=direct, settings={"DATABASE_POOLER": "yes"}) if one["kind"] == "CronJob"]
    [container] = backup["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert len(variables) == len(container["env"])
    assert (variables["DATABASE_URL"], "DATABASE_POOLER" in variables) == ("postgres://a@b/c", False)
    assert container["command"][-1] == "--keep-monthly=12"
    assert not optional & {one["kind"] for one in less}
    for wrong in (
        {"host": "https://a"},
        {"web": {"replicas": 0}},
        {"redisUrl": "redis"},
        {"unknown": 1},
        {"backup": {"enabled": True}},
    ):
        with pytest.raises(helm_python.HelmError):
            render(**wrong)


def test_pods_have_limits_probes_and_few_rights(settings):
    manifests = render()
    pods = {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in manifests if "template" in one["spec"]}
    queues = {f"demo-worker-{queue}" for queue in settings.JOB_QUEUES}
    assert set(pods) == {"demo-web", "demo-beat", "demo-migrate", *queues}
    for name, pod in pods.items():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert {"cpu", "memory"} <= set(container["resources"]["limits"])
            assert name == "demo-migrate" or "livenessProbe" in container or container["name"] == "sandbox"
    sandbox = pods["demo-worker-untrusted"]["initContainers"][0]
    assert "env" not in sandbox
    assert [mount["name"] for mount in sandbox["volumeMounts"]] == ["sandbox"]
    beat = next(one for one in manifests if one["metadata"]["name"] == "demo-beat")
    assert (beat["spec"]["replicas"], beat["spec"]["strategy"]) == (1, {"type": "Recreate"})
