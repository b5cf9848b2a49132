"""Pages in another language: a translation in locale/ is enough, for templates as well as for scripts."""

import re
from html import unescape

import pytest

from tests.languages import add_german

GERMAN = {
    "Copied": "Kopiert",
    "Skip to content": "Zum Inhalt",
    "%(count)s byte\0%(count)s bytes": "%(count)s Byte\0%(count)s Bytes",
}


@pytest.fixture
def german(settings, tmp_path):
    add_german(settings, tmp_path, GERMAN)


@pytest.mark.browser
def test_a_page_and_its_scripts_use_the_language_of_the_browser(german, open_page):
    page = open_page()
    page.set_extra_http_headers({"Accept-Language": "de"})
    page.goto("/accounts/login/")
    assert page.locator(".skip-link").text_content() == "Zum Inhalt"
    assert page.evaluate("gettext('Copied')") == "Kopiert"
    assert page.evaluate("ngettext('%(count)s byte', '%(count)s bytes', 2)") == "%(count)s Bytes"


@pytest.mark.django_db
@pytest.mark.any_database
def test_only_pages_in_another_language_load_a_catalog_and_browsers_keep_it(german, client):
    assert b"/jsi18n/" not in client.get("/accounts/login/").content
    page = client.get("/accounts/login/", HTTP_ACCEPT_LANGUAGE="de").content
    address = re.search(r'<script defer src="(/jsi18n/[^"]*)"></script>', page.decode())
    catalog = client.get(unescape(address[1]))
    assert "Kopiert" in catalog.content.decode()
    assert catalog["Cache-Control"] == "private, max-age=31536000, immutable"
    assert client.get("/jsi18n/?language=xx").status_code == 404
