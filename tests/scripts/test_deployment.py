"""The container files, as far as they can be checked without an engine that runs containers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import redis
import yaml
from gunicorn.config import Config

from scripts.private_services import free_port, port_is_open, running_server

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = {"ASSAY_HOST"}
WORKERS = {"worker", "imports", "untrusted", "models"}
APPLICATION = {"migrate", "web", "beat", "backup", *WORKERS}


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
    backup = dict(compose["services"]["backup"]["environment"])
    environments.remove(backup)
    # Around a pooler.
    assert backup.pop("BACKUP_KEY_FILE") == "${BACKUP_KEY_FILE:-}"
    assert backup | {name: environments[0][name] for name in ("DATABASE_URL", "DATABASE_POOLER")} == environments[0]
    assert [one.pop("ASSAY_SANDBOX", None) for one in environments].count(None) == len(APPLICATION) - 4
    assert all(environment == environments[0] for environment in environments)
    assert environments[0]["ASSAY_MODE"] == "server"
    assert "ASSAY_DEMO" not in environments[0]


def test_every_setting_that_the_documentation_names_reaches_the_application(compose):
    """One in ``.env`` that the containers are not given would do nothing, without a word."""
    rows = re.findall(r"^\| (`[A-Z`_, ]+) \|", (ROOT / "docs" / "running.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"[A-Z_]{4,}", row)}
    assert {"JOB_STATEMENT_SECONDS", "LOG_LEVEL"} < named
    # Variables of the container, and those that only an embedded or unusual server has.
    fixed = {"ASSAY_HTTPS", "ASSAY_DEMO", "EMAIL_FILE_PATH", "STATIC_ROOT"}
    # Secrets are files.
    fixed |= {"SECRET_KEY", "DATABASE_PASSWORD", "REDIS_PASSWORD"}
    # What only the file itself reads.
    read_here = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))
    fixed |= {"BACKUP_FOLDER", "DIRECT_DATABASE_URL"} & read_here
    named -= {"BACKUP_KEY", "BACKUP_KEY_FILE"} & set(compose["services"]["backup"]["environment"]) | {"BACKUP_KEY"}
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
    assert set(given) == set(compose["services"])
    assert given["proxy"] > given["web"]
    assert given["web"] > Config().graceful_timeout


def test_what_is_named_is_declared(compose):
    for service in compose["services"].values():
        assert set(service.get("networks", ())) <= set(compose["networks"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        volumes = [re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", volume) for volume in service.get("volumes", ())]
        named = {volume.partition(":")[0] for volume in volumes}
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
    assert served == {"worker": "assay", "imports": "imports", "untrusted": "untrusted", "models": "models"}


def test_long_running_services_tell_their_health(compose):
    docker = (ROOT / "Dockerfile").read_text()
    assert "HEALTHCHECK" in docker
    for name in set(compose["services"]) - {"migrate", "web"}:
        assert compose["services"][name]["healthcheck"]["test"]


def test_every_service_has_limits_and_few_rights(compose):
    for name, service in compose["services"].items():
        assert {"mem_limit", "cpu_shares", "pids_limit"} <= set(service), name
        assert service["security_opt"] == ["no-new-privileges:true"]
        if name != "postgres":
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        image = service["image"]
        # An exact version; deploy/pin-images adds the digest, which only a registry knows.
        assert image == "assay" or re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?", image)


def test_secrets_are_files_and_not_in_the_environment(compose, tmp_path):
    script = tmp_path / "make-secrets"
    shutil.copy(ROOT / "deploy" / "make-secrets", script)
    subprocess.run([script], check=True, capture_output=True)
    made = {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()}
    assert {f"./deploy/secrets/{name}" for name in made} == {one["file"] for one in compose["secrets"].values()}
    assert made.pop("backup_key") == ""
    assert len(set(made.values())) == 3
    assert all(re.fullmatch("[0-9a-f]{96}", text) for text in made.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    # A second run changes nothing.
    subprocess.run([script], check=True, capture_output=True)
    assert made | {"backup_key": ""} == {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()}
    for service in compose["services"].values():
        files = {key: value for key, value in service.get("environment", {}).items() if key.endswith("_FILE")}
        used = {value.rpartition("/")[2] for value in files.values() if value.startswith("/run/secrets/")}
        assert used <= set(service.get("secrets", ()))


def test_keys_of_services_are_those_of_the_compose_specification(compose):
    """A misspelt key would be refused by docker compose, which may be missing here."""
    known = (
        "build cap_add cap_drop command cpu_shares depends_on environment healthcheck image init logging mem_limit "
        "networks "
        "network_mode pids_limit ports read_only restart secrets security_opt shm_size stop_grace_period tmpfs user "
        "volumes"
    )
    for service in compose["services"].values():
        assert set(service) <= set(known.split())
        assert set(service.get("healthcheck", ())) <= {
            "test", "interval", "timeout", "retries", "start_period", "disable"
        }  # fmt: skip
        assert set(service.get("secrets", ())) <= set(compose["secrets"])
    assert set(compose) <= {"name", "services", "volumes", "networks", "secrets", "x-logging", "x-application",
                            "x-environment"}  # fmt: skip


@pytest.mark.servers
def test_redis_starts_with_its_password_and_its_limit(compose, tmp_path):
    """The command of the container, with other folders and another port."""
    (tmp_path / "redis_password").write_text("abc123")
    port = free_port()
    script = compose["services"]["redis"]["command"][2].replace("$$", "$").replace("/run/secrets", str(tmp_path))
    script = script.replace("/tmp/redis.conf", f"{tmp_path}/redis.conf").replace("--save", f"--port {port} --save")
    with running_server(["sh", "-c", script], tmp_path, "Redis", lambda: port_is_open(port), {}):
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
        variables = {"REDIS_URL": f"redis://127.0.0.1:{port}/0", "REDIS_PASSWORD_FILE": f"{tmp_path}/redis_password"}
        show = "from annotator.config import environment as e; print(e.redis(required=True))"
        url = subprocess.run(
            [sys.executable, "-c", show], cwd=ROOT, env=variables, capture_output=True, text=True, check=True
        ).stdout.strip()
        client = redis.Redis.from_url(url)
        assert client.config_get("maxmemory*")["maxmemory-policy"] == "noeviction"
        assert int(client.config_get("maxmemory")["maxmemory"]) < 512 * 2**20
        client.close()


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
