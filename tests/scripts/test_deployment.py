"""The container files, as far as they can be checked without an engine that runs containers."""

import re
from pathlib import Path

import pytest
import yaml
from gunicorn.config import Config

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = {"SECRET_KEY", "POSTGRES_PASSWORD", "ASSAY_HOST"}
APPLICATION = {"migrate", "web", "worker", "untrusted", "models", "beat"}


@pytest.fixture(scope="module")
def text():
    return (ROOT / "docker-compose.yml").read_text()


@pytest.fixture(scope="module")
def compose(text):
    return yaml.safe_load(text)


def test_every_service_of_the_server_mode_is_there(compose):
    assert set(compose["services"]) == {"postgres", "redis", "proxy", "sandbox", *APPLICATION}


def test_a_start_without_secrets_is_refused_with_a_sentence(text):
    required = dict(re.findall(r"\$\{([A-Z_]+):\?([^}]*)\}", text))
    assert set(required) == REQUIRED
    assert all(sentence.startswith("Set ") and "deploy/example.env" in sentence for sentence in required.values())


def test_no_secret_has_a_default(text):
    with_default = re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", text)
    assert not {name for name, _ in with_default} & REQUIRED
    assert all(value == "" for name, value in with_default if "PASSWORD" in name or "KEY" in name)


def test_example_names_what_is_required_and_fills_in_nothing():
    lines = (ROOT / "deploy" / "example.env").read_text().splitlines()
    assert {line for line in lines if line and not line.startswith("#")} == {f"{name}=" for name in REQUIRED}


def test_application_runs_in_server_mode_with_one_environment(compose):
    environments = [dict(compose["services"][name]["environment"]) for name in sorted(APPLICATION)]
    assert [one.pop("ASSAY_SANDBOX", None) for one in environments].count(None) == len(APPLICATION) - 2
    assert all(environment == environments[0] for environment in environments)
    assert environments[0]["ASSAY_MODE"] == "server"
    assert "ASSAY_DEMO" not in environments[0]


def test_every_setting_that_the_documentation_names_reaches_the_application(compose):
    """One in ``.env`` that the containers are not given would do nothing, without a word."""
    rows = re.findall(r"^\| (`[A-Z`_, ]+) \|", (ROOT / "docs" / "running.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"[A-Z_]{4,}", row)}
    assert {"JOB_STATEMENT_SECONDS", "LOG_LEVEL"} < named
    # Variables of the container, and those that only an embedded or unusual server has.
    fixed = {"ASSAY_HTTPS", "ASSAY_DEMO", "EMAIL_FILE_PATH", "STATIC_ROOT", "SECRET_KEY_FILE"}
    assert named - fixed - set(compose["services"]["web"]["environment"]) == set()


def test_nobody_serves_before_the_database_is_migrated(compose):
    for name in APPLICATION - {"migrate"}:
        assert compose["services"][name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert compose["services"]["migrate"]["restart"] == "no"


def test_only_the_proxy_is_open_to_the_outside(compose):
    assert [name for name, service in compose["services"].items() if "ports" in service] == ["proxy"]
    assert compose["networks"]["data"] == {"internal": True}
    for name in ("postgres", "redis"):
        assert compose["services"][name]["networks"] == ["data"]


def test_requests_that_the_proxy_waits_for_take_no_memory_from_the_rest(compose):
    assert compose["services"]["proxy"]["mem_limit"] == "2g"
    assert compose["services"]["proxy"]["restart"] == "unless-stopped"


def test_logs_of_years_do_not_fill_the_disk(compose):
    for name, service in compose["services"].items():
        assert service["logging"]["driver"] == "local", name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}


def test_what_stops_has_the_time_it_takes(compose):
    """Docker kills after ten seconds what was given no more: in the middle of an answer, a job or a checkpoint."""
    given = {
        name: int(service["stop_grace_period"].removesuffix("s"))
        for name, service in compose["services"].items()
        if "stop_grace_period" in service
    }
    assert set(given) == {"web", "worker", "untrusted", "models", "postgres"}
    assert given["web"] > Config().graceful_timeout


def test_what_is_named_is_declared(compose):
    for service in compose["services"].values():
        assert set(service.get("networks", ())) <= set(compose["networks"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        named = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert {volume for volume in named if not volume.startswith(".")} <= set(compose["volumes"])
        assert all((ROOT / volume).exists() for volume in named if volume.startswith("."))


def test_strangers_code_runs_where_there_is_nothing(compose):
    sandbox, worker = compose["services"]["sandbox"], compose["services"]["untrusted"]
    assert sandbox["network_mode"] == "none"
    assert sandbox["read_only"] is True
    assert sandbox["cap_drop"] == ["ALL"]
    assert sandbox["user"] not in ("0:0", "10001:10001")
    assert sandbox["mem_limit"]
    assert sandbox["pids_limit"]
    assert "environment" not in sandbox
    assert sandbox["volumes"] == ["sandbox:/run/assay"]
    assert worker["environment"]["ASSAY_SANDBOX"] == sandbox["command"][-1]
    assert "celery" not in str(sandbox["command"])


def test_strangers_data_and_code_have_workers_of_their_own(compose):
    served = {}
    for name, service in compose["services"].items():
        command = service.get("command", ())
        if "worker" in command:
            served[name] = command[command.index("--queues") + 1]
    assert served == {"worker": "assay", "untrusted": "untrusted", "models": "models"}


def test_long_running_services_tell_their_health(compose):
    docker = (ROOT / "Dockerfile").read_text()
    assert "HEALTHCHECK" in docker
    for name in ("postgres", "redis", "worker", "untrusted", "models", "proxy", "sandbox"):
        assert compose["services"][name]["healthcheck"]["test"]


def test_connections_on_which_nothing_comes_take_no_thread():
    """Caddy opens some in a rush of requests and then has no use for them; to ``gthread`` each is a thread."""
    assert '"--worker-class", "annotator.config.buffering_worker.BufferingWorker"' in (ROOT / "Dockerfile").read_text()


def test_image_runs_as_nobody_special_and_keeps_no_installer():
    build, _, final = (ROOT / "Dockerfile").read_text().partition("\n\n\nFROM ")
    assert "\nUSER assay\n" in final
    assert "uv sync --frozen --no-dev" in build
    assert "pip" not in final
    assert "collectstatic" in build


def test_no_secret_and_no_data_goes_into_the_image():
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".env", ".venv", "var"} <= set(ignored)
