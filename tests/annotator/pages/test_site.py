"""Parts of the site outside projects: health, theme, error pages, and the rules for every request."""

import errno
import gc
import logging
import runpy
import socket
import time
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import gunicorn.config
import pytest
import redis
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.db import InterfaceError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, RequestFactory
from django.utils import timezone

from annotator.config.logs import HideSecrets
from annotator.core import concurrency
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Job, PeriodicTask
from annotator.services.accounts import tokens
from annotator.services.database import statements
from annotator.services.jobs.periodic_tasks import PULSE, note_run
from annotator.tasks import resume_jobs
from annotator.views import context, projects, request_limits, site
from tests.factories import make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def member(client, team):
    """A client signed in as an annotator."""
    client.force_login(team.annotator)
    return client


def words(response):
    return response.content.decode()


def test_a_host_that_is_not_ours_costs_the_log_one_line(client, caplog):
    assert client.get("/accounts/login/", headers={"host": "evil.example"}).status_code == 400
    (record,) = caplog.records
    assert "evil.example" in record.getMessage()
    assert not record.exc_info


def test_who_keeps_the_server_computing_leaves_threads_to_others(client, team, monkeypatch):
    """Eight pages of ten megabytes at once kept everybody waiting for half a minute."""
    _, secret = tokens.create_token(actor=team.annotator, name="program", expires_at=None)
    program, colleague = Client(headers={"authorization": f"Bearer {secret}"}), Client()
    client.force_login(team.annotator)
    colleague.force_login(team.senior)
    with ExitStack() as held:
        for _ in range(request_limits.MAX_SLOWED):
            # As many requests as one person may have worked on at once.
            assert held.enter_context(concurrency.limited({f"turn {team.annotator.pk}": request_limits.MAX_SLOWED}))
        # Quick ones are as many as come.
        assert client.get("/").status_code == program.get("/api/projects/").status_code == 200
        monkeypatch.setattr(request_limits, "MAX_COMPUTING", 0)
        monkeypatch.setattr(request_limits, "FREE_COMPUTING", 0)
        assert program.get("/api/projects/").status_code == 200
        half_a_page = client.get("/", headers={"hx-request": "true"})
        for refused in (client.get("/"), half_a_page, program.get("/api/projects/")):
            assert (refused.status_code, refused["Retry-After"]) == (503, "10")
            assert "used a lot of computing time" in words(refused)
        assert colleague.get("/").status_code == 200
    assert client.get("/").status_code == program.get("/api/projects/").status_code == 200
    # For ten minutes after the last of them.
    assert request_limits._computing.keys() == {team.annotator.pk, team.senior.pk}
    later = time.monotonic() + request_limits.SLOWED_FOR + 1
    monkeypatch.setattr(request_limits.time, "monotonic", lambda: later)
    assert colleague.get("/").status_code == 200
    assert request_limits._computing.keys() == {team.senior.pk}


def test_one_person_never_has_all_threads_from_the_first_request_on(client, team):
    """Also of several sessions and tokens, and where the requests compute nothing but wait for each other."""
    _, secret = tokens.create_token(actor=team.annotator, name="program", expires_at=None)
    program, colleague = Client(headers={"authorization": f"Bearer {secret}"}), Client()
    client.force_login(team.annotator)
    colleague.force_login(team.senior)
    threads = {request_limits.THREADS: 4}
    with ExitStack() as held:
        for _ in range(3):
            assert client.get("/", **threads).status_code == program.get("/api/projects/", **threads).status_code == 200
            assert held.enter_context(concurrency.limited({f"person {team.annotator.pk}": 3}))
        half_a_page = client.get("/", headers={"hx-request": "true"}, **threads)
        for refused in (client.get("/", **threads), half_a_page, program.get("/api/projects/", **threads)):
            assert (refused.status_code, refused["Retry-After"]) == (503, "10")
            assert "so this one wasn’t started" in words(refused)
            assert refused.wsgi_request.META[request_limits.PERSON] == team.annotator.pk
        assert colleague.get("/", **threads).status_code == 200
        # A server with one thread for each request has enough of them.
        assert client.get("/").status_code == 200


def test_many_pages_at_once_that_each_compute_a_little_less_count_as_a_long_one(member, team, monkeypatch):
    """Forty at once of 1.8 seconds each, again and again, kept everybody waiting for a minute."""
    clock = count(0, request_limits.MAX_COMPUTING * 0.4)
    monkeypatch.setattr(request_limits.time, "thread_time", lambda: next(clock))
    colleague = Client()
    colleague.force_login(team.senior)
    begun = time.monotonic()
    monkeypatch.setattr(request_limits.time, "monotonic", lambda: begun)
    with concurrency.limited({f"turn {team.annotator.pk}": request_limits.MAX_SLOWED}), ExitStack() as held:
        assert [member.get("/").status_code for _ in range(2)] == [200, 200]
        # One after the other, with a pause, they never add up.
        begun += request_limits.MAX_COMPUTING * 0.8 / request_limits.FREE_COMPUTING
        assert [member.get("/").status_code for _ in range(3)] == [200, 200, 200]
        for _ in range(request_limits.MAX_SLOWED - 1):
            held.enter_context(concurrency.limited({f"turn {team.annotator.pk}": request_limits.MAX_SLOWED}))
        assert member.get("/").status_code == 503
        assert colleague.get("/").status_code == 200


def test_a_program_that_sends_many_small_requests_at_once_does_not_take_turns(team):
    """They add up to more than a quarter of each second, and hold nobody up."""
    for _ in range(100):
        request_limits.note_computing(team.annotator, request_limits.FREE_COMPUTING)
    assert not request_limits._computing


def test_a_large_answer_to_a_form_finds_a_place_as_a_download_does(member, team, monkeypatch):
    """Four forms of a huge draft, whose pages were read slowly, took every thread of a process for minutes."""
    monkeypatch.setattr(request_limits, "BUFFERED", 1000)
    form = {"daily": "nonsense", "time_zone": ""}
    with concurrency.limited({f"slow {team.annotator.pk}": request_limits.MAX_TRANSFERS_OF_ONE}):
        refused = member.post("/notices/settings/", form)
        assert (refused.status_code, refused["Retry-After"]) == (503, "10")
        assert "Your request was processed" in words(refused)
        assert "Nothing was changed" not in words(refused)
        assert "Nothing was changed" in words(member.get("/"))
        assert member.head("/").status_code == 200
    answered = member.post("/notices/settings/", form)
    assert (answered.status_code, len(answered.content) > 1000) == (422, True)


# --- health -----------------------------------------------------------------------------------------------------------


def test_strangers_who_ask_at_once_whether_all_is_there_open_one_connection(client, monkeypatch):
    """Forty of them slowed every page to 0.7 seconds."""
    asked = []
    monkeypatch.setattr(site, "_found", dict(site._found))
    monkeypatch.setattr(site, "what_is_missing", lambda: asked.append(1) or {"disk": f"Look {len(asked)}."})
    assert "Look 1" in words(client.get("/readyz"))
    with concurrency.limited({"readyz": 1}):
        assert "Look 1" in words(client.get("/readyz"))
        later = time.monotonic() + site.RECENT + 1
        monkeypatch.setattr(site.time, "monotonic", lambda: later)
        assert "Look 2" in words(client.get("/readyz"))
    assert "Look 3" in words(client.get("/readyz"))


def test_health_is_a_line_of_text_that_is_not_cached(client):
    response = client.get("/healthz")
    assert (response.status_code, words(response)) == (200, "ok\n")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Cache-Control"] == "no-store"
    assert "sessionid" not in response.cookies


def test_private_pages_and_the_api_are_kept_by_nobody(client):
    team = make_team()
    token = tokens.create_token(actor=team.annotator, name="t", expires_at=None)[1]
    client.force_login(team.annotator)
    page = f"/p/{team.project.slug}/"
    answers = [client.get(path) for path in ("/", page, f"{page}dialogues/", "/notices/", "/p/hidden/")]
    answers += [Client(headers={"Authorization": f"Bearer {token}"}).get("/api/projects/"), Client().get(page)]
    for answer in answers:
        assert "no-store" in answer["Cache-Control"]
        assert "private" in answer["Cache-Control"]


@pytest.mark.parametrize("host", ["10.0.3.7:8000", "web", "127.0.0.1:8000", "assay.example"])
def test_health_is_told_to_a_proxy_that_calls_this_machine_by_its_address(settings, host):
    settings.ALLOWED_HOSTS = ["assay.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    client = Client(HTTP_HOST=host)
    assert client.get("/healthz").status_code == 200
    assert client.head("/healthz").status_code == 200


def test_the_process_is_alive_whatever_has_become_of_the_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").status_code == 200


@pytest.fixture
def ready(settings):
    """All is there: this test's database and broker, a worker that was heard of just now, and room on the disk."""
    settings.DISK_RESERVE_MB = 0
    note_run(PULSE)
    return settings


@pytest.mark.django_db(transaction=True)
def test_the_site_is_ready_when_all_is_there_that_it_needs(client, ready):
    response = client.get("/readyz", headers={"host": "10.0.3.7:8000"})
    assert (response.status_code, words(response)) == (200, "ready\n")
    assert response["Cache-Control"] == "no-store"
    assert client.post("/readyz").status_code == 405


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_without_workers_or_room(client, ready):
    PeriodicTask.objects.update(ran_at=timezone.now() - timedelta(minutes=6))
    ready.DISK_RESERVE_MB = 2**40
    response = client.get("/readyz")
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert [line.partition(": ")[0] for line in words(response).splitlines()] == ["workers", "disk"]
    assert "No worker has run since" in words(response)
    # When the clock was ahead: that says nothing of now.
    PeriodicTask.objects.update(ran_at=timezone.now() + timedelta(hours=8))
    assert "No worker has run since" in words(client.get("/readyz"))
    PeriodicTask.objects.all().delete()
    assert "No worker has run yet" in words(client.get("/readyz"))


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_without_its_data_folder(client, ready, tmp_path):
    """A disk that is not mounted: asking how full it is was an error of the program."""
    ready.DATA_DIR = tmp_path / "gone"
    response = client.get("/readyz")
    assert (response.status_code, words(response)) == (
        503,
        "disk: The data folder does not exist or is not writable.\n",
    )


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_while_a_worker_has_another_data_folder(client, ready, tmp_path):
    """Every import failed there, and all was said to be well."""
    ready.DATA_DIR = tmp_path / "worker"
    ready.DATA_DIR.mkdir()
    resume_jobs()
    assert client.get("/readyz").status_code == 200
    ready.DATA_DIR = tmp_path
    response = client.get("/readyz")
    said = "workers: A worker and this web server use different data folders. Set the same ASSAY_DATA for both.\n"
    assert (response.status_code, words(response)) == (503, said)


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_while_nobody_serves_the_queue_of_strangers(client, ready):
    long_ago = timezone.now() - timedelta(minutes=6)
    job = Job.objects.create(project=make_team().project, kind="replay", created_at=long_ago)
    assert words(client.get("/readyz")).startswith("untrusted: A job of the queue “untrusted” has been waiting since")
    # A worker of another queue does not help.
    Job.objects.create(project=job.project, kind="import", state="running", heartbeat_at=timezone.now())
    assert client.get("/readyz").status_code == 503
    # One that takes its time has a worker; those behind it wait their turn.
    other = Job.objects.create(project=job.project, kind="replay", state="running", heartbeat_at=timezone.now())
    assert client.get("/readyz").status_code == 200
    Job.objects.filter(pk=other.pk).update(heartbeat_at=long_ago)
    assert client.get("/readyz").status_code == 503
    Job.objects.filter(pk=job.pk).update(kind="history_check")
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_without_database_or_broker(client, ready):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        ready.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BaseDatabaseWrapper, "ensure_connection", _raise_gone)
            response = client.get("/readyz")
    assert response.status_code == 503
    gone = "The database doesn’t respond, or the connection was lost."
    assert words(response) == f"database: {gone}\nbroker: Redis does not respond.\n"


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_while_redis_takes_no_writes(client, ready, monkeypatch):
    """It answers all the same, and workers are heard of for a while yet."""

    def full(*_, **__):
        raise redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'.")

    monkeypatch.setattr(redis.Redis, "set", full)
    monkeypatch.setattr(redis.Redis, "ping", lambda self: True)
    ready.REDIS_URL = "redis://127.0.0.1:1/0"
    response = client.get("/readyz")
    assert response.status_code == 503
    assert words(response).startswith("broker: Redis responds but accepts no writes: command not allowed")


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_before_the_database_is_migrated(client, ready):
    """Neither after an update, nor where there is nothing at all yet."""
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "reviews")
    recorder.record_unapplied("reviews", newest)
    try:
        response = client.get("/readyz")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MigrationRecorder, "has_table", lambda self: False)
            of_nothing = client.get("/readyz")
    finally:
        recorder.record_applied("reviews", newest)
    assert response.status_code == 503
    assert words(response) == f"database: Migrations up to reviews.{newest} are missing. Run “manage.py migrate”.\n"
    assert words(of_nothing).startswith("database: Migrations up to account.")
    assert client.get("/readyz").status_code == 200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_while_the_database_can_be_read_and_not_written_to(client, ready):
    """A real one whose disk takes no more: all that is only read goes on as ever."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    assert client.get("/readyz").status_code == 200
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"ALTER DATABASE {name} SET temp_file_limit = 0")
            response = client.get("/readyz")
        finally:
            cursor.execute(f"ALTER DATABASE {name} RESET temp_file_limit")
    assert response.status_code == 503
    assert words(response) == "database: The database responds but accepts no writes. Check whether its disk is full.\n"


def _raise_gone(*arguments):
    raise OperationalError("secret-host:5432")


def test_logs_hold_no_link_that_opens_something(settings):
    """An invitation, or the way to a new password: neither the access log nor what is logged of a refusal has it."""
    made = runpy.run_path(str(settings.BASE_DIR / "gunicorn.conf.py"))["logger_class"](gunicorn.config.Config())
    nothing = SimpleNamespace(status="200 OK", sent=0, headers=[])
    for secret in ("/invitation/sesame/", "/accounts/password/reset/key/1-sesame/?next=/"):
        asked = {"REQUEST_METHOD": "GET", "RAW_URI": secret, "PATH_INFO": secret, "SERVER_PROTOCOL": "HTTP/1.1"}
        atoms = made.atoms(nothing, nothing, asked | {"HTTP_REFERER": f"http://localhost{secret}"}, timedelta())
        assert "sesame" not in str(atoms)
        assert atoms["r"].startswith(f"GET {secret.partition('sesame')[0].removesuffix('1-')}…")
        record = logging.makeLogRecord({"msg": "Forbidden: %s", "args": (secret,)})
        assert "secrets" in settings.LOGGING["handlers"]["stderr"]["filters"]
        assert HideSecrets().filter(record)
        assert "sesame" not in record.getMessage()


# --- theme ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "kept"), [("dark", "dark"), ("light", "light"), ("auto", "auto"), ("<script>", "auto"), ("", "auto")]
)
def test_the_theme_is_kept_in_a_cookie_and_shown(client, chosen, kept):
    response = client.post("/theme/", {"theme": chosen, "next": "/accounts/login/"})
    assert (response.status_code, response["Location"]) == (302, "/accounts/login/")
    cookie = response.cookies["theme"]
    assert (cookie.value, cookie["samesite"], cookie["max-age"]) == (kept, "Lax", 365 * 86400)
    assert f'data-theme="{kept}"' in words(client.get("/accounts/login/"))


def test_a_theme_somebody_made_up_is_not_shown(client):
    client.cookies["theme"] = '"><script>alert(1)</script>'
    assert 'data-theme="auto"' in words(client.get("/accounts/login/"))


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "http:///evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://testserver@evil.example/",
        " https://evil.example",
        "",
    ],
)
def test_the_theme_sends_nobody_elsewhere(client, elsewhere):
    response = client.post("/theme/", {"theme": "dark", "next": elsewhere})
    assert response["Location"] == "/"
    response = client.post("/theme/", {"theme": "dark"}, headers={"referer": elsewhere})
    assert response["Location"] == "/"


def test_the_theme_goes_back_to_where_one_was(client):
    response = client.post("/theme/", {"theme": "dark"}, headers={"referer": "http://testserver/tokens/?a=1"})
    assert response["Location"] == "http://testserver/tokens/?a=1"
    response = client.post("/theme/", {"theme": "dark", "next": "/a\r\nSet-Cookie: b=c"})
    assert "\n" not in response["Location"]
    assert "b" not in response.cookies


# --- pages of errors --------------------------------------------------------------------------------------------------


@pytest.fixture
def refuse(monkeypatch):
    """Let the list of projects raise."""

    def refuse(error):
        def fail(*arguments, **keywords):
            raise error

        monkeypatch.setattr(projects.projects, "may_create_projects", fail)

    return refuse


OUTAGES = [
    (OperationalError("connection to secret-host failed"), "The database doesn’t respond, or the connection was"),
    (InterfaceError("the connection is closed"), "The database doesn’t respond, or the connection was lost. Yo"),
    (OperationalError("database is locked"), "The database was busy: other changes took too long. Your saved"),
    (OperationalError("FATAL: sorry, too many clients already"), "The database has no free connections."),
    (OperationalError('FATAL: too many connections for role "app"'), "The database has no free connections."),
    (OperationalError("FATAL: remaining connection slots are reserved for"), "The database has no free connections."),
    (OSError(errno.ENOSPC, "No space left on device", "/secret"), "The server’s disk is full. Your saved work is safe"),
    (PermissionError(errno.EACCES, "Permission denied", "/secret"), "The server can’t read or write its files. Y"),
    (OSError(errno.EROFS, "Read-only file system", "/secret"), "The server can’t read or write its files. Your s"),
]


@pytest.mark.parametrize(("error", "sentence"), OUTAGES)
def test_an_outage_is_told_as_one_that_passes(member, refuse, error, sentence, caplog):
    refuse(error)
    member.raise_request_exception = False
    for headers in ({}, {"HX-Request": "true"}):
        response = member.get("/projects/", headers=headers)
        assert (response.status_code, response["Retry-After"]) == (503, "10")
        assert sentence in words(response)
        assert "secret" not in words(response)
        assert ("<!doctype" in words(response)) == (not headers)
    refuse(RuntimeError("boom"))
    assert member.get("/projects/").status_code == 500


@pytest.mark.parametrize(
    ("error", "one_line"),
    [
        (OperationalError("database or disk is full"), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        # Here the place may help.
        (OperationalError("database is locked"), False),
        (OperationalError("no such table: annotator_user"), False),
    ],
)
def test_a_full_disk_is_not_filled_by_the_log(member, refuse, error, one_line, caplog):
    """A request cost it twenty-six lines, and nobody could be served meanwhile."""
    refuse(error)
    member.raise_request_exception = False
    assert member.get("/projects/").status_code == 503
    [record] = caplog.records
    [handler] = [one for one in logging.root.handlers if type(one) is logging.StreamHandler]
    assert handler.filter(record)
    lines = handler.format(record).splitlines()
    assert (len(lines) == 1) == one_line
    assert str(error) in lines[-1]


@pytest.mark.parametrize("address", ["/projects/", "/api/projects/"])
def test_without_a_database_every_address_answers_that_it_will_pass(member, address, monkeypatch, caplog):
    """From the session on, which is read before any view: neither page nor answer needs the database itself."""
    member.raise_request_exception = False
    monkeypatch.setattr(BaseDatabaseWrapper, "cursor", _raise_gone)
    monkeypatch.setattr(statements, "_cursor", _raise_gone)
    response = member.get(address)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    if address.startswith("/api/"):
        assert response.json()["error"] == "unavailable"
        assert "The database doesn’t respond" in response.json()["sentence"]
    else:
        assert "The database doesn’t respond" in words(response)


ERRORS = [
    (Denied, 403, "Not allowed"),
    (Hidden, 404, "Page not found"),
    (Conflict, 409, "Not possible right now"),
    (Invalid, 422, "Invalid input"),
]


@pytest.mark.parametrize(("error", "status", "title"), ERRORS)
def test_a_refusal_is_a_page_with_its_sentence(member, refuse, error, status, title):
    refuse(error("Do <that> first.", secret="not for the page"))
    response = member.get("/projects/")
    assert response.status_code == status
    assert f"<h1>{title}</h1>" in words(response)
    assert "<p data-sentence>Do &lt;that&gt; first.</p>" in words(response)
    assert "not for the page" not in words(response)


@pytest.mark.parametrize(("error", "status", "title"), ERRORS)
def test_a_refusal_is_a_notice_to_htmx(member, refuse, error, status, title):
    refuse(error("Do that first."))
    response = member.get("/projects/", headers={"HX-Request": "true"})
    assert response.status_code == status
    assert "<!doctype" not in words(response).lower()
    assert '<hx-partial hx-target="#toasts"' in words(response)
    assert "Do that first." in words(response)


@pytest.mark.parametrize("signed_in", [True, False])
def test_an_address_that_leads_nowhere(client, team, signed_in):
    if signed_in:
        client.force_login(team.annotator)
    response = client.get("/nothing/here/")
    assert response.status_code == 404
    assert "This page doesn’t exist, or you don’t have access to it." in words(response)


def test_what_an_outsider_may_not_see_looks_like_what_is_not_there(client, team):
    client.force_login(team.outsider)
    hidden = client.get(f"/p/{team.project.slug}/settings/")
    absent = client.get("/p/there-is-no-such-project/settings/")
    assert hidden.status_code == absent.status_code == 404

    def without_address(response):
        return words(response).replace(team.project.slug, "").replace("there-is-no-such-project", "")

    strip_token = [without_address(r).partition("<body>")[2] for r in (hidden, absent)]
    tokens = [page.replace(_token(page), "") for page in strip_token]
    assert tokens[0] == tokens[1]
    assert team.project.name not in words(hidden)


def _token(page):
    return page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]


def test_a_fault_of_the_program_is_a_page_without_a_word_about_it(member, refuse):
    member.raise_request_exception = False
    refuse(RuntimeError("password=hunter2"))
    response = member.get("/projects/")
    assert response.status_code == 500
    assert "Something went wrong" in words(response)
    assert "hunter2" not in words(response)
    assert "Traceback" not in words(response)
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_a_page_asked_for_by_the_wrong_method(member, team):
    response = member.get(f"/p/{team.project.slug}/people/{team.annotator.public_id}/")
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "Can’t open this address" in words(response)
    assert member.head("/theme/").status_code == 405


def test_a_host_this_site_does_not_go_by(settings):
    settings.ALLOWED_HOSTS = ["assay.example"]
    for demo in (False, True):
        settings.DEMO = demo
        response = Client(HTTP_HOST="evil.example").get("/accounts/login/")
        assert response.status_code == 400
        assert "Invalid request" in words(response)
        assert "evil.example" not in words(response)


def test_a_form_with_too_many_fields_or_too_much_text(member):
    many = {f"field{n}": "x" for n in range(django_settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
    assert member.post("/theme/", many).status_code == 422
    body = "text=" + "x" * (django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    response = member.post("/theme/", body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 400
    assert "Invalid request" in words(response)


def test_a_form_without_its_token_is_refused_with_a_sentence(team):
    client = Client(enforce_csrf_checks=True)
    client.force_login(team.annotator)
    response = client.post("/tokens/", {"name": "x"}, headers={"referer": "http://testserver/tokens/"})
    assert response.status_code == 403
    assert "Reload the page and try again" in words(response)
    assert 'href="http://testserver/tokens/"' in words(response)
    assert "<style" not in words(response)
    assert not team.annotator.api_tokens.exists()
    response = client.post("/tokens/", {"name": "x"}, headers={"HX-Request": "true"})
    assert (response.status_code, "hx-partial" in words(response)) == (403, True)


def test_refusals_lead_back_to_the_form_and_nowhere_else(member, team):
    url = f"/p/{team.project.slug}/people/{team.annotator.public_id}/"
    page = words(member.post(url, {}, headers={"referer": "http://testserver/p/x/people/"}))
    assert 'href="http://testserver/p/x/people/"' in page
    page = words(member.post(url, {}, headers={"referer": "https://evil.example/"}))
    assert "evil.example" not in page


@pytest.mark.parametrize("address", ["/api/nothing/", "/api/projects/x/nothing/"])
def test_programs_get_errors_as_json(client, address):
    response = client.get(address)
    assert response.status_code == 404
    assert response.json() == {
        "error": "not_found",
        "sentence": "This page doesn’t exist, or you don’t have access to it.",
        "details": {},
    }


# --- NUL --------------------------------------------------------------------------------------------------------------


def test_nul_characters_are_refused_before_any_database_sees_them(member, team):
    slug = team.project.slug
    for address in (
        "/tokens/%00/revoke/",
        "/invitation/a%00b/",
        f"/p/{slug}/people/%00/",
        f"/p/{slug}/dialogues/%00/",
        "/work/%00/",
        f"/api/projects/{slug}/dialogues/%00/",
    ):
        assert member.get(address).status_code == 404
        assert member.post(address).status_code == 404
    assert member.get(f"/p/{slug}/dialogues/?q=%00").status_code == 400
    assert member.get(f"/p/{slug}/guideline/?version=%00").status_code == 400
    response = member.post("/tokens/", {"name": "a\x00"})
    assert response.status_code == 422
    assert "NUL character" in words(response)


# --- every page -------------------------------------------------------------------------------------------------------


def test_every_response_carries_the_headers_that_protect_it(member):
    response = member.get("/projects/")
    policy = response["Content-Security-Policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("page", "entry"),
    [
        ("project", "project"),
        ("project-settings", "project-settings"),
        ("dialogue-list", "dialogue-list"),
        ("dialogue", "dialogue-list"),
        ("revision-diff", "dialogue-list"),
        ("guideline-edit", "guideline"),
        ("release-detail", "release-list"),
        ("import-detail", "import-list"),
        ("member-list", "member-list"),
        ("workspace", ""),
        ("", ""),
    ],
)
def test_a_page_belongs_to_one_entry_of_the_navigation(page, entry):
    assert context._entry_of(page) == entry


def test_the_navigation_shows_each_what_is_theirs(client, team):
    def entries(person):
        client.force_login(person)
        page = client.get(f"/p/{team.project.slug}/people/").context
        return [entry["label"] for entry in page["nav"]], [e["label"] for e in page["nav"] if e["current"]]

    work = ["Dialogues", "Guideline", "Feedback", "Project", "Statistics"]
    everybody = [*work, "Coverage", "Generations", "Releases", "Protocol", "People"]
    assert entries(team.annotator) == (everybody, ["People"])
    labels, here = entries(team.administrator)
    assert here == ["People"]
    assert [label for label in labels if label in everybody] == everybody
    assert {
        "Imports",
        "Toolsets",
        "Composites",
        "Jobs",
        "Settings",
        "Assignments",
        "Gold",
        "Training",
        "History",
        "Disputes",
    } == set(labels) - set(everybody)


def test_the_navigation_lists_only_ones_own_projects(client, team):
    other = make_team()
    client.force_login(team.annotator)
    page = client.get(f"/p/{team.project.slug}/people/")
    assert list(page.context["projects"]) == [team.project]
    assert other.project.name not in words(page)


def test_the_chrome_of_a_request_that_nobody_knows(settings):
    settings.DEMO = True
    assert context.chrome(RequestFactory().get("/"))["theme"] == "auto"


# --- files ------------------------------------------------------------------------------------------------------------


class EndlessFile:
    """A form with a field and a large file, which counts what is read of it."""

    def __init__(self, size):
        self.size = size
        self.read_so_far = 0
        self._head = (
            b'--b\r\nContent-Disposition: form-data; name="theme"\r\n\r\ndark\r\n'
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        )

    def read(self, size):
        size = min(size, self.size - self.read_so_far)
        piece = self._head[self.read_so_far : self.read_so_far + size]
        self.read_so_far += size
        return piece + b"x" * (size - len(piece))

    readline = read


class BrokenOffFile(EndlessFile):
    """One whose sender goes away after three megabytes."""

    def read(self, size):
        if self.read_so_far > 3 * 2**20:
            raise ConnectionResetError
        return super().read(size)


@pytest.mark.parametrize("checks_csrf", [True, False])
@pytest.mark.parametrize("size", [400 * 2**20, 9 * 2**20])
def test_a_file_is_refused_before_it_is_read_from_whoever_may_not_send_one(team, settings, tmp_path, checks_csrf, size):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    imports = f"/p/{team.project.slug}/imports/"
    seen = {}
    for who in (None, team.outsider, team.annotator, team.administrator):
        client = Client(enforce_csrf_checks=checks_csrf)
        if who is not None:
            client.force_login(who)
        client.cookies["csrftoken"] = "c" * 32
        for path in (
            "/accounts/login/",
            "/theme/",
            "/no/such/address/",
            imports,
            f"/api/projects/{team.project.slug}/imports/",
        ):
            sent = EndlessFile(size)
            if who is team.administrator and "imports" in path:
                continue
            body = {"wsgi.input": sent, "CONTENT_LENGTH": str(size), "CONTENT_TYPE": "multipart/form-data; boundary=b"}
            answer = client.generic("POST", path, **body)
            seen[who and who.username, path] = answer.status_code
            assert sent.read_so_far < 2**20
    pages = [seen[None, "/theme/"], seen[None, imports], seen[team.annotator.username, imports]]
    if size > 10 * 2**20:
        assert pages == [413, 413, 413]
    else:
        assert pages == [302, 302, 403]
    assert seen[None, f"/api/projects/{team.project.slug}/imports/"] == 401
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/accounts/login/", "/accounts/password/reset/", "/theme/", "/p/one/next/"])
def test_a_large_form_of_a_stranger_is_not_read(member, settings, path):
    """Twenty at once of eight million signs, each seconds of computing, kept everybody waiting for half a minute."""
    stranger = Client(enforce_csrf_checks=True)
    stranger.cookies["csrftoken"] = "c" * 32
    size = settings.MAX_ANONYMOUS_REQUEST_BYTES
    for length, read in ((size, True), (size + 1, False)):
        sent = EndlessFile(length)
        body = {"wsgi.input": sent, "CONTENT_LENGTH": str(length), "CONTENT_TYPE": "application/x-www-form-urlencoded"}
        answer = stranger.generic("POST", path, **body)
        assert bool(sent.read_so_far) == read
        assert answer.status_code == (403 if read else 302)
    assert answer["Location"].startswith("/accounts/login/")
    assert "You were signed out. Nothing was changed." in words(stranger.get("/accounts/login/"))
    assert member.post("/notices/settings/", {"daily": "x" * 2 * size}).status_code == 422


def test_of_a_file_that_breaks_off_nothing_stays_on_the_disk(team, settings, tmp_path):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    client = Client(raise_request_exception=False)
    client.force_login(team.administrator)
    # As in the web server: nobody looks for what refers to itself.
    gc.disable()
    try:
        for path in (f"/p/{team.project.slug}/imports/", f"/api/projects/{team.project.slug}/imports/"):
            sent = BrokenOffFile(9 * 2**20)
            body = {"wsgi.input": sent, "CONTENT_LENGTH": "9437184", "CONTENT_TYPE": "multipart/form-data; boundary=b"}
            client.generic("POST", path, **body)
            assert sent.read_so_far > 3 * 2**20
            assert list(tmp_path.iterdir()) == []
    finally:
        gc.enable()


def test_a_large_file_that_comes_slowly_leaves_threads_to_others(team):
    """An administrator's, of which a thread waits for the end: another of theirs has to wait until it is there."""
    addresses = (f"/p/{team.project.slug}/imports/", f"/api/projects/{team.project.slug}/imports/")
    refused = []

    def send(address, sent, size):
        client = Client(raise_request_exception=False)
        client.force_login(team.administrator)
        body = {"wsgi.input": sent, "CONTENT_LENGTH": str(size), "CONTENT_TYPE": "multipart/form-data; boundary=b"}
        return client.generic("POST", address, **body)

    class Waiting(BrokenOffFile):
        """While it comes, others do."""

        def read(self, size):
            if not self.read_so_far:
                for address in addresses:
                    large = EndlessFile(11 * 10**6)
                    answer = send(address, large, large.size)
                    refused.append((answer.status_code, answer["Retry-After"], large.read_so_far))
                    assert "large uploads or downloads are running" in words(answer)
            return super().read(size)

    for address in addresses:
        assert send(address, Waiting(11 * 10**6), 11 * 10**6).status_code != 503
        assert not concurrency._running
    assert refused == [(503, "10", 0)] * 4


def test_an_address_that_takes_no_files_says_so(client):
    response = client.post("/theme/", {"theme": "dark", "file": ContentFile(b"{}", "a.json")})
    assert response.status_code == 400
    assert "You can’t upload files here." in words(response)


def test_pages_are_told_who_is_signed_in_by_now_and_programs_are_not(client):
    """A page that somebody has left open sends nothing once somebody else has signed in (static/app/app.js)."""
    one, two = make_team().annotators[:2]
    assert "assay_person" not in client.get("/accounts/login/").cookies
    for person in (one, two):
        client.force_login(person)
        answer = client.get("/")
        assert answer.cookies["assay_person"].value == person.public_id
        assert f'<meta name="person" content="{person.public_id}"' in answer.content.decode()
        assert "assay_person" not in client.get("/").cookies
        assert "assay_person" not in client.get("/api/projects/").cookies
