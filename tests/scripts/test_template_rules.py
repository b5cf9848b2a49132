import pytest

from scripts import template_rules
from scripts.template_rules import code_problems, gettext_problems, problems_below, template_problems, unmarked_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<script>alert(1)</script>", "an inline script"),
        ('<script type="application/json">{}</script>', "an inline script"),
        ("<style>p {}</style>", "an inline style sheet"),
        ('<p class="a" style="color: red">', "a style attribute"),
        ('<button\n  onclick="go()">', "an event attribute"),
        ('<a href="javascript:go()">', "a javascript: address"),
        ('<div hx-on:click="go()">', "an hx-on attribute"),
        ('<textarea name="a" rows="2">{{ text }}</textarea>', "begin a new line"),
        ('<script src="https://cdn.example/a.js"></script>', "a file from another server"),
        (f"<p>{'a' * 118}", "at most 120"),
    ],
)
def test_what_the_policy_would_break_is_found(text, words):
    assert [sentence for _, sentence in template_problems(text) if words in sentence]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="{% static "app.js" %}" defer></script>',
        '<a href="https://example.org/">elsewhere</a>',
        '<textarea name="a">\n{{ text }}</textarea><textarea></textarea>',
        "{# <p style='x'> #}<!-- <script>old</script> -->",
        '<p class="style">a = "b" on time = 3</p>',
        '<button hx-post="/x" data-once="1">',
        f"<p>{'a' * 117}",
    ],
)
def test_what_the_policy_allows_is_left_alone(text):
    assert list(template_problems(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "mark_safe(text)",
        "html.format_html('{}', text)",
        "format_html_join('', '{}', rows)",
        "SafeString(text)",
        "markupsafe.Markup(text)",
        "words = f'<b>{text}</b>'",
        "start = '<a href=\"/\">'",
        "end = '</svg>'",
        "words = '<p'",
    ],
)
def test_code_that_builds_html_is_found(text):
    assert list(code_problems(text))


@pytest.mark.parametrize(
    "text",
    [
        '"""The tag <b>."""',
        "def shown() -> Markup: ...",
        "pattern = '(?P<p>x)(?P<b>y)'",
        "words = '<city>' + '<think>' + 'a < b'",
        "data = b'<html>'",
    ],
)
def test_code_without_html_is_left_alone(text):
    assert list(code_problems(text)) == []


def test_what_is_not_escaped_is_found_but_in_mails_without_html(tmp_path):
    folder = tmp_path / "templates" / "mail"
    folder.mkdir(parents=True)
    text = "{{ text|safe }}{% autoescape off %}"
    (folder / "digest.txt").write_text(text)
    assert problems_below(tmp_path) == []
    (folder / "digest.html").write_text(text)
    assert [line.partition(": ")[0] for line in problems_below(tmp_path)] == ["templates/mail/digest.html:1"] * 2


def test_code_is_named_by_file_and_line(tmp_path):
    folder = tmp_path / "reviews"
    folder.mkdir()
    (folder / "pages.py").write_text("x = 1\ny = '<p>'\n")
    assert problems_below(tmp_path) == ["reviews/pages.py:2: HTML in a text: write it in a template"]


def test_place_is_named_by_file_and_line(tmp_path):
    folder = tmp_path / "templates" / "new"
    folder.mkdir(parents=True)
    (folder / "page.html").write_text('{# a\nb #}\n<p style="x">\n')
    assert problems_below(tmp_path) == ["templates/new/page.html:3: a style attribute: use a class"]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("<p>Save {{ name }}</p>", "Save"),
        ("{% block title %}Members{% endblock %}", "Members"),
        ("<p>{% translate 'Save' %} or cancel", "or cancel"),
        ('<input type="submit" value="Save">', "Save"),
        ('<a aria-label="Close" href="#x">×</a>', "Close"),
        ('<input placeholder="{{ a }} name">', "name"),
        ('<img alt="A graph" src="a.png">', "A graph"),
        ('<p data-say="Could not save">', "Could not save"),
        ('<p title="{% if a %}Open{% else %}{% translate "Closed" %}{% endif %}">', "Open"),
        ("<code>x</code> text", "text"),
        ('<p translate="no">a<br>b</p>text', "text"),
        ('{% empty "No comments yet" %}', "No comments yet"),
        ('{% badge "rejected" "bad" %}', "rejected"),
        ('{% include "a.html" with title="Not found" %}', "Not found"),
        ('{{ names|join:" and " }}', " and "),
        ("{{ name|default:'Nobody' }}", "Nobody"),
    ],
)
def test_text_not_marked_for_translation_is_found(template, text):
    assert list(unmarked_text(template)) == [(1, f"“{text}” {template_rules.UNMARKED}")]


@pytest.mark.parametrize(
    "template",
    [
        '<p>{% translate "Save" %} {{ name }} · 3 × 4 &nbsp;</p>',
        "{% blocktranslate count n=rows|length trimmed %}<b>One</b> row{% plural %}{{ n }} rows{% endblocktranslate %}",
        "<p>{% comment %}old{% endcomment %}<!-- old -->{# old #}",
        "<code>x</code><kbd>Enter</kbd><pre>a <b>c</b></pre><samp>d</samp>",
        '<p translate="no">a <b>c</b><br></p>',
        '<input type="text" name="first name" value="Ann">',
        '<a class="Big button" href="{% url "Home page" %}" data-key="g p">{% icon "arrow" %}</a>',
        '{% empty _("No comments yet") %}{% badge _("rejected") "bad" %}{{ a|default:_("Nobody") }}',
        '{% include "components/notice_row.html" with tone="good" text="" %}',
        '{{ day|date:"j F Y" }}{{ names|join:", " }}{% if a == "Old one" %}{% kbd "Ctrl+Enter" %}{% endif %}',
        "<title>{{ name }} · Assay</title>",
        "{% block body_class %}wide{% if tall %} tall{% endif %}{% endblock %}",
    ],
)
def test_marked_text_and_what_nobody_translates_are_left_alone(template):
    assert list(unmarked_text(template)) == []


def test_problems_are_named_by_file_and_line(tmp_path):
    for name in ("new", "jinja2"):
        (tmp_path / "templates" / name).mkdir(parents=True)
        (tmp_path / "templates" / name / "page.html").write_text("<p>\n  {{ name\n  }}\n</p>\n<p>\n  Save\n</p>")
    assert problems_below(tmp_path) == [
        f"templates/jinja2/page.html:6: “Save” {template_rules.UNMARKED}",
        "templates/new/page.html:2: a tag that does not end on its line: Django would show it as text",
        f"templates/new/page.html:6: “Save” {template_rules.UNMARKED}",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "for _ in range(3): say(_('Hello'))",
        "row, _ = first(); return _('Hello')",
        "_ = 1; return [_('Hello') for n in rows]",
        "return [_('Hello') for _ in rows]",
    ],
)
def test_a_function_that_translates_does_not_assign_to_the_underscore(body):
    found = list(gettext_problems(f"from django.utils.translation import gettext as _\ndef page():\n    {body}\n"))
    assert found
    assert all("assigns to it" in sentence for _, sentence in found)


@pytest.mark.parametrize(
    "body",
    [
        "return _('Hello')",
        "row, _ = first(); return row",
        "from django.utils.translation import gettext as _; return _('Hello')",
        "return _('Hello'), [1 for _ in rows]",
    ],
)
def test_other_uses_of_the_underscore_are_left_alone(body):
    assert not list(gettext_problems(f"from django.utils.translation import gettext as _\ndef page():\n    {body}\n"))
