"""Pages in another language: a translation in locale/ is enough, for templates as well as for scripts."""

import struct

import pytest

GERMAN = {
    "": "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n",
    "Copied": "Kopiert",
    "Skip to content": "Zum Inhalt",
    "%(count)s byte\0%(count)s bytes": "%(count)s Byte\0%(count)s Bytes",
}


def compiled(texts: dict[str, str]) -> bytes:
    """Return what msgfmt makes of a translation (the format is in the manual of GNU gettext)."""
    encoded = sorted((text.encode(), translated.encode()) for text, translated in texts.items())
    header, table, strings = 28, b"", b""
    start = header + 16 * len(encoded)
    for column in zip(*encoded, strict=True):
        for text in column:
            table += struct.pack("<2I", len(text), start + len(strings))
            strings += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(encoded), header, header + 8 * len(encoded), 0, 0) + table + strings


@pytest.fixture
def german(settings, tmp_path):
    """German as a second language of the site."""
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    for domain in ("django", "djangojs"):
        (folder / f"{domain}.mo").write_bytes(compiled(GERMAN))
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [("en", "English"), ("de", "German")]


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
    assert b'<script defer src="/jsi18n/"></script>' in page
    catalog = client.get("/jsi18n/", HTTP_ACCEPT_LANGUAGE="de")
    assert "Kopiert" in catalog.content.decode()
    assert catalog["Cache-Control"] == "private, max-age=3600"
    assert "Accept-Language" in catalog["Vary"]
