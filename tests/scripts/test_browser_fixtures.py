"""The fixtures of browser tests notice what they are there to notice."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_sign_in_page_is_sound(open_page, check_accessibility):
    page = open_page()
    page.goto("/accounts/login/")
    assert "Assay" in page.title()
    check_accessibility(page)


def test_blocked_style_is_noted(open_page, page_problems):
    page = open_page()
    page.goto("/accounts/login/")
    page.evaluate("document.body.innerHTML = '<p style=\"color: red\">red</p>'")
    page.wait_for_function("document.querySelector('p') !== null")
    page.reload()
    assert any("CSP violation: style-src" in text for text in page_problems.unexpected())
    page_problems.allow("CSP violation|Content Security Policy")


def test_uncaught_error_is_noted(open_page, page_problems):
    page = open_page()
    page.goto("/accounts/login/")
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw new Error('the cellar is flooded') }, 0)")
    assert any("the cellar is flooded" in text for text in page_problems.unexpected())
    page_problems.allow("the cellar is flooded")


def test_inaccessible_place_is_named(open_page, check_accessibility):
    page = open_page()
    page.goto("/accounts/login/")
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    with pytest.raises(AssertionError, match="label"):
        check_accessibility(page, schemes=("light",))
    page.reload()
    page.evaluate(FAINT_IN_THE_DARK)
    check_accessibility(page, schemes=("light",))
    with pytest.raises(AssertionError, match=r"\(dark\): color-contrast"):
        check_accessibility(page)


FAINT_IN_THE_DARK = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("@media (prefers-color-scheme: dark) { h1 { color: #333 !important } }");
  document.adoptedStyleSheets.push(sheet);
}"""


def test_user_is_signed_in(open_page, django_user_model):
    page = open_page(django_user_model.objects.create_user("ada"))
    page.goto("/")
    assert "/accounts/login/" not in page.url


def test_page_without_javascript(open_page):
    page = open_page(javascript=False, width=320, scheme="dark")
    page.goto("/accounts/login/")
    assert page.locator("form").count() >= 1
