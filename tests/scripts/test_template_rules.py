import pytest

from scripts.template_rules import problems_below, template_problems


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
        ('<script src="https://cdn.example/a.js"></script>', "a file of another server"),
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


def test_place_is_named_by_file_and_line(tmp_path):
    folder = tmp_path / "templates" / "reviews"
    folder.mkdir(parents=True)
    (folder / "page.html").write_text('{# a\nb #}\n<p style="x">\n')
    assert problems_below(tmp_path) == ["templates/reviews/page.html:3: a style attribute: use a class"]
