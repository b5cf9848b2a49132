"""How the installation is doing: the page of operators, workers, metrics, the log, and where errors are sent."""

import json
import logging
import os
import re
import subprocess
import sys
import threading
import tomllib
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator import VERSION
from annotator.config.logs import AddContext, HideSecrets, JsonLines
from annotator.config.reporting import without_private_parts
from annotator.core import log_context
from annotator.core.sandbox import walls_in_force
from annotator.errors import Conflict, Hidden
from annotator.models import DailySize, Event, Job, JobState, PeriodicTask, Worker
from annotator.services.jobs.jobs import run, start_job
from annotator.services.jobs.periodic_tasks import PULSE, note_run
from annotator.services.jobs.retrying import retry_job
from annotator.services.operations.overview import BACKUP
from annotator.services.operations.workers import Reporter, memory_of_tree
from annotator.tasks import note_sizes
from tests.factories import make_user

pytestmark = [pytest.mark.django_db]
ROOT = Path(__file__).resolve().parents[3]
PAGE = "/operator/operations/"


@pytest.fixture
def operator(client):
    person = make_user("olga", is_staff=True)
    client.force_login(person)
    return person


def text_of(response):
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def failed_job(project, kind="history", **values):
    now = timezone.now()
    values = {"parameters": {}, "state": JobState.FAILED, "started_at": now, "ended_at": now} | values
    return Job.objects.create(project=project, kind=kind, **values)


def report(name, *queues, **values):
    values = {"version": VERSION, "walls": ["filter", "landlock"]} | values
    return Worker.objects.create(key=name, name=name, queues=list(queues), **values)


def test_operators_see_queues_failures_workers_growth_and_backups(client, operator, team, settings):
    late = timezone.now() - timedelta(minutes=5)
    running = Job.objects.create(project=team.project, kind="history", state="running", heartbeat_at=late)
    Job.objects.create(project=team.project, kind="replay")
    failed_job(team.project, "history")
    report("first@host", "assay", jobs=[running.pk], memory=3 << 20)
    report("old@host", "models", heartbeat_at=late, version="0.0.1", sandbox_error="No filter.")
    note_sizes()
    with CaptureQueriesContext(
        connection,
    ) as statements:
        page = client.get(PAGE)
    assert len(statements) < 20
    words = text_of(page)
    for part in (
        "There is no backup yet.", "untrusted no worker 1 0 0", "assay 0 1 1", "History check", running.public_id,
        "3.0 MB", "0.0.1 differs", "old@host no report", "No filter.", "filter, landlock", "resume-jobs", VERSION,
    ):  # fmt: skip
        assert part in words, part
    assert DailySize.objects.get().dialogues == 0
    call_command("note_backup", "/backups", bytes=5 << 20, encrypted=True)
    words = text_of(client.get(PAGE, headers={"hx-request": "true"}))
    assert "There is no backup" not in words
    assert "/backups" in words
    assert "5.0 MB" in words
    settings.BACKUP_MAX_AGE_HOURS = 1
    PeriodicTask.objects.filter(name=BACKUP).update(ran_at=timezone.now() - timedelta(hours=2))
    assert "The last backup is old." in text_of(client.get(PAGE))


@pytest.mark.any_database
def test_a_failed_job_is_started_again_once_by_operators_and_administrators(client, operator, team):
    job = failed_job(team.project, checkpoint={"after": 0}, requester=team.administrator)
    for stranger in (team.annotator, make_user("walter")):
        with pytest.raises(Hidden):
            retry_job(actor=stranger, job=job)
    assert client.post(f"{PAGE}{job.public_id}/retry/", follow=True).status_code == 200
    again = Job.objects.exclude(pk=job.pk).get()
    assert (again.state, again.requester, again.checkpoint) == ("queued", team.administrator, {"after": 0})
    event = Event.objects.filter(kind="job.started").get()
    assert (event.actor, event.after["instead_of"]) == (operator, job.public_id)
    with pytest.raises(Conflict, match="already been started again"):
        retry_job(actor=team.administrator, job=job)
    assert run(again.pk).state == JobState.DONE
    for other, sentence in ((again, "Only failed jobs"), (failed_job(team.project, "replay"), "on its own page")):
        with pytest.raises(Conflict, match=sentence):
            retry_job(actor=operator, job=other)


@pytest.mark.django_db(transaction=True)
def test_readiness_tells_beat_from_workers(client, settings):
    settings.DISK_RESERVE_MB = 0
    old = timezone.now() - timedelta(minutes=6)
    report("worker@host", "assay")
    note_run(PULSE)
    as_json = {"accept": "application/json"}
    assert client.get("/readyz", headers=as_json).json() == {"ready": True, "missing": {}}
    PeriodicTask.objects.update(ran_at=old)
    response = client.get("/readyz", headers=as_json)
    assert response.status_code == 503
    assert list(response.json()["missing"]) == ["beat"]
    Worker.objects.update(heartbeat_at=old)
    assert list(client.get("/readyz", headers=as_json).json()["missing"]) == ["workers"]
    assert client.get("/livez").content == b"ok\n"


@pytest.mark.django_db(transaction=True)
def test_a_worker_reports_itself_while_it_lives():
    reporter = Reporter("untrusted@host", ["untrusted"])
    reporter.row["walls"] = walls_in_force()
    reporter.report()
    row = Worker.objects.get()
    assert (row.name, row.queues, row.version, row.walls[0]) == ("untrusted@host", ["untrusted"], VERSION, "filter")
    assert row.memory == 0 or row.memory > 1 << 20
    reporter.report()
    assert Worker.objects.get().heartbeat_at > row.heartbeat_at
    assert memory_of_tree(2**30) == 0


@pytest.mark.any_database
def test_metrics_are_for_those_who_have_the_token_or_the_address(client, operator, team, settings):
    assert client.get("/metrics").status_code == 404
    settings.METRICS, settings.METRICS_TOKEN = True, "a-token-of-a-scraper"
    assert Client().get("/metrics").status_code == 404
    assert Client(headers={"authorization": "Bearer another"}).get("/metrics").status_code == 404
    failed_job(team.project)
    report("worker@host", "assay")
    note_run(PULSE)
    note_run(BACKUP)
    client.get("/p/no-such-project/")
    client.get("/nowhere/at-all/")
    scrape = Client(headers={"authorization": "Bearer a-token-of-a-scraper", "host": "10.0.0.7:8000"})
    found = scrape.get("/metrics").content.decode()
    assert 'assay_http_requests_total{method="GET",status="404",view="project"}' in found
    assert "no-such-project" not in found
    assert "at-all" not in found
    assert 'assay_jobs_ended_last_hour{kind="history",state="failed"} 1.0' in found
    assert 'assay_workers{queue="assay"} 1.0' in found
    settings.METRICS_TOKEN, settings.METRICS_ADDRESSES = "", [ip_network("127.0.0.0/8")]
    assert Client().get("/metrics").status_code == 200
    assert Client(REMOTE_ADDR="10.1.1.1").get("/metrics").status_code == 404
    # The board and the alerts use only what is there.
    board = json.loads((ROOT / "deploy/grafana/assay.json").read_text())
    alerts = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    names = set(re.findall(r"assay_\w+", " ".join(asked)))
    assert names == {name for name in names if re.search(rf"^{name}[{{ ]", found, re.MULTILINE)}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.any_database
def test_a_request_has_one_id_in_response_log_and_job(client, team, settings, caplog):
    settings.REQUEST_LOG = True
    client.force_login(team.administrator)
    name = "from-the-proxy-1"
    with caplog.at_level(logging.INFO, "annotator.requests"):
        response = client.get(f"/p/{team.project.slug}/people/", headers={"x-request-id": name})
        strange = [
            Client(REMOTE_ADDR="10.1.1.1").get("/", headers={"x-request-id": name}),
            client.get("/", headers={"x-request-id": "short"}), client.get("/", headers={"x-request-id": "a b" * 9}),
        ]  # fmt: skip
    assert response["X-Request-ID"] == name
    assert all(re.fullmatch("[0-9a-f]{24}", one["X-Request-ID"]) for one in strange)
    record = caplog.records[0]
    with log_context.about(request_id=name, person="p", project=team.project.slug):
        assert AddContext().filter(record)
        job = start_job(actor=team.administrator, project=team.project, kind="history", parameters={})
    line = json.loads(JsonLines().format(record))
    assert (line["view"], line["status"], line["request_id"], line["level"]) == ("member-list", 200, name, "INFO")
    assert {"time", "logger", "message", "ms", "bytes"} <= line.keys()
    assert job.request_id == name
    assert log_context.request_id.get() == ""


@pytest.mark.any_database
def test_logs_and_reports_are_plain_and_without_secrets():
    secret = "/invitation/abcdefgh"
    try:
        raise ValueError(f"at {secret}/")
    except ValueError:
        record = logging.makeLogRecord(
            {"msg": "failed %s", "args": (secret,), "exc_info": sys.exc_info(), "request": {}}
        )
    assert HideSecrets().filter(record)
    text = JsonLines().format(record)
    line = json.loads(text)
    assert "abcdefgh" not in text
    assert "\n" not in text
    assert "Traceback" in line["error"]
    assert "request" not in line
    event = {
        "user": {"id": 1}, "request": {"url": f"http://a{secret}", "data": "x", "query_string": "q", "headers": {}},
        "exception": {"values": [{"value": f"at {secret}/"}]},
    }  # fmt: skip
    with log_context.about(request_id="r", person="p"):
        sent = without_private_parts(event)
    assert sent == {
        "request": {"url": "http://a/invitation/…"},
        "exception": {"values": [{"value": "at /invitation/…/"}]},
        "tags": {"request_id": "r"},
    }


class _Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.paths.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


REPORTS = """
import sentry_sdk
from annotator.config.reporting import start_reporting
from django.conf import settings
start_reporting()
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
application = get_wsgi_application()
from django.test import RequestFactory
from opentelemetry import trace
for path, host in (("/livez", "10.0.0.7"), ("/jsi18n/", "localhost")):
    answers = []
    application(RequestFactory().get(path, headers={"host": host}).environ, lambda status, _: answers.append(status))
    assert answers == ["200 OK"], (path, answers)
try:
    1 / 0
except ZeroDivisionError:
    sentry_sdk.capture_exception()
sentry_sdk.flush(5)
trace.get_tracer_provider().force_flush(5000)
"""


@pytest.mark.any_database
def test_errors_and_traces_arrive_where_the_settings_say(tmp_path):
    with HTTPServer(("127.0.0.1", 0), _Collector) as server:
        server.paths = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{server.server_port}"
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        variables = kept | {
            "ASSAY_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
            "SENTRY_DSN": f"http://key@{here}/1", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{here}",
        }  # fmt: skip
        command = [sys.executable, "-c", REPORTS]
        ended = subprocess.run(
            command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False
        )
        server.shutdown()
    assert ended.returncode == 0, ended.stderr
    assert {"/api/1/envelope/", "/v1/traces"} <= set(server.paths)


def test_the_version_is_the_one_of_the_package():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
