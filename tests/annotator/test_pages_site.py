"""What belongs to no project: health, theme, pages of errors, and what is asked of every request."""

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.test import Client, RequestFactory

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.views import context, projects, site
from tests.factories import make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def member(client, team):
    """A client signed in as an annotator."""
    client.force_login(team.annotator)
    return client


def words(response):
    return response.content.decode()


# --- health -----------------------------------------------------------------------------------------------------------


def test_health_is_a_line_of_text_that_is_not_cached(client):
    response = client.get("/healthz")
    assert (response.status_code, words(response)) == (200, "ok\n")
    assert response["Content-Type"] == "text/plain"
    assert response["Cache-Control"] == "no-store"
    assert "sessionid" not in response.cookies


@pytest.mark.parametrize("host", ["10.0.3.7:8000", "web", "127.0.0.1:8000", "assay.example"])
def test_health_is_told_to_a_proxy_that_calls_this_machine_by_its_address(settings, host):
    settings.ALLOWED_HOSTS = ["assay.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    client = Client(HTTP_HOST=host)
    assert client.get("/healthz").status_code == 200
    assert client.head("/healthz").status_code == 200


def test_health_asks_the_database_once_and_nothing_else(client, django_assert_num_queries):
    with django_assert_num_queries(1):
        client.get("/healthz")


def test_health_says_when_the_database_is_gone(client, monkeypatch):
    class Gone:
        def cursor(self):
            raise OperationalError("the server closed the connection: secret-host:5432")

    monkeypatch.setattr(site, "connection", Gone())
    response = client.get("/healthz")
    assert response.status_code == 503
    assert words(response) == "The database does not answer.\n"


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


ERRORS = [
    (Denied, 403, "You may not do this"),
    (Hidden, 404, "Not found"),
    (Conflict, 409, "This cannot be done now"),
    (Invalid, 422, "This cannot be accepted"),
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
    assert "There is nothing at this address, or it is not yours to see." in words(response)


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
    assert "Something failed here" in words(response)
    assert "hunter2" not in words(response)
    assert "Traceback" not in words(response)
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_a_page_asked_for_by_the_wrong_method(member, team):
    response = member.get(f"/p/{team.project.slug}/people/{team.annotator.public_id}/")
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "This is no page" in words(response)
    assert member.head("/theme/").status_code == 405


def test_a_host_this_site_does_not_go_by(settings):
    settings.ALLOWED_HOSTS = ["assay.example"]
    for demo in (False, True):
        settings.DEMO = demo
        response = Client(HTTP_HOST="evil.example").get("/accounts/login/")
        assert response.status_code == 400
        assert "This request cannot be read" in words(response)
        assert "evil.example" not in words(response)


def test_a_form_with_too_many_fields_or_too_much_text(member):
    many = {f"field{n}": "x" for n in range(django_settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
    assert member.post("/theme/", many).status_code == 422
    body = "text=" + "x" * (django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    response = member.post("/theme/", body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 400
    assert "This request cannot be read" in words(response)


def test_a_form_without_its_token_is_refused_with_a_sentence(team):
    client = Client(enforce_csrf_checks=True)
    client.force_login(team.annotator)
    response = client.post("/tokens/", {"name": "x"}, headers={"referer": "http://testserver/tokens/"})
    assert response.status_code == 403
    assert "load the page again" in words(response)
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
        "sentence": "There is nothing at this address, or it is not yours to see.",
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

    everybody = ["Project", "Dialogues", "Statistics", "Releases", "Guideline", "Feedback", "Protocol", "People"]
    assert entries(team.annotator) == (everybody, ["People"])
    labels, here = entries(team.administrator)
    assert here == ["People"]
    assert [label for label in labels if label in everybody] == everybody
    assert {"Imports", "Jobs", "Settings", "Assignments", "Gold", "History", "Disputes"} == set(labels) - set(everybody)


def test_the_navigation_lists_only_ones_own_projects(client, team):
    other = make_team()
    client.force_login(team.annotator)
    page = client.get(f"/p/{team.project.slug}/people/")
    assert list(page.context["projects"]) == [team.project]
    assert other.project.name not in words(page)


def test_the_chrome_of_a_request_that_nobody_knows(settings):
    settings.DEMO = True
    assert context.chrome(RequestFactory().get("/"))["theme"] == "auto"
