"""Markdown people wrote: what it looks like, and that nothing in it is ever more than text."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.presentation import markdown
from annotator.presentation.markdown import render_markdown
from reviews.services.feedback.comments import MAX_COMMENTS, MAX_TEXT

ALLOWED = {
    "a",
    "blockquote",
    "br",
    "code",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}


class Elements(HTMLParser):
    """Collects every element and attribute of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def elements(text):
    """All but the region that every table gets, which no text can make by itself."""
    region = '<div class="table-scroll" tabindex="0" role="group" aria-label="Table">'
    html = str(render_markdown(text))
    assert html.count("<div") == html.count(region + "<table>") == html.count("</table>\n</div>")
    return Elements(html.replace(region, "")).found


def scheme_of(attributes):
    """The scheme of a link as a browser reads it: it leaves out control characters and blanks."""
    href = re.sub(r"[\x00-\x20]", "", attributes.get("href") or "")
    found = re.match(r"([a-z][a-z0-9+.\-]*):", href, re.IGNORECASE)
    return found[1].lower() if found else ""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Be *kind*.", "<p>Be <em>kind</em>.</p>"),
        ("# Rules", "<h2>Rules</h2>"),
        ("###### Deep", "<h6>Deep</h6>"),
        ("~~no~~ **yes**", "<p><s>no</s> <strong>yes</strong></p>"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
        ("`a < b`", "<p><code>a &lt; b</code></p>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("晴天\r\n雨天", "<p>晴天\n雨天</p>"),
    ],
)
def test_what_it_looks_like(text, html):
    assert str(render_markdown(text)).strip() == html


def test_tables_carry_no_styles():
    html = str(render_markdown("| a | b |\n|:-:|--:|\n| 1 | 2 |"))
    assert "<td>1</td>" in html
    assert "style" not in html


def test_links_leave_no_trace_of_where_they_were_followed():
    (_, link) = elements('[rules](https://example.org/a?b=c "the rules")')[1]
    assert link == {"href": "https://example.org/a?b=c", "title": "the rules", "rel": "noopener noreferrer nofollow"}


def test_an_image_is_a_link_to_it():
    assert [tag for tag, _ in elements("![a map](https://example.org/map.png)")] == ["p", "a"]
    assert "a map" in render_markdown("![a map](https://example.org/map.png)")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](&#x6A&#x61vascript:alert(1))",
        "[x](\x01javascript:alert(1))",
        "[x](vbscript:msgbox)",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](file:///etc/passwd)",
        "![x](javascript:alert(1))",
        "<javascript:alert(1)>",
        '[x](https://a.b "\\" onmouseover=alert(1) x=\\"")',
        '[x]: javascript:alert(1) "t"\n\n[x]',
        "<style>body{display:none}</style>",
        "<iframe src=//evil.example></iframe>",
        "<form action=//evil.example><input name=p></form>",
        "<base href=//evil.example>",
        "<!--><script>alert(1)</script>-->",
        "```html\n<script>alert(1)</script>\n```",
        "    <script>alert(1)</script>",
        "`<script>alert(1)</script>`",
        "| <script>alert(1)</script> |\n|---|\n| <b onclick=alert(1)>x</b> |",
        '```" onclick="alert(1)\nx\n```',
        "<math><mtext></p><script>alert(1)</script>",
        "\u2028<script>alert(1)</script>\u2029",
    ],
)
def test_nothing_in_it_runs(text):
    for tag, attributes in elements(text):
        assert tag in ALLOWED
        assert set(attributes) <= {"href", "title", "rel"}
        assert scheme_of(attributes) in ("", "http", "https", "mailto")


@given(st.text(max_size=300))
def test_no_text_makes_anything_else(text):
    for tag, attributes in elements(text):
        assert tag in ALLOWED
        assert set(attributes) <= {"href", "title", "rel"}


@given(st.text(alphabet="<>[]()!&;#:/\\\"'`*_~|- \nascript javhref=on", max_size=200))
def test_no_markup_makes_anything_else(text):
    for tag, attributes in elements(text):
        assert tag in ALLOWED
        assert scheme_of(attributes) in ("", "http", "https", "mailto")


@pytest.mark.parametrize(
    "part", ["[", "![", "> ", "*", "**a", "`", "<", "&", "[a](", "- ", "|", "\\", "[]: ", "~~", "_a"]
)
def test_a_guideline_of_nothing_but_beginnings_is_laid_out(part):
    """A parser that looked back from each of them in every way would never end."""
    assert len(render_markdown(part * (20_000 // len(part)))) > 0


def test_comments_of_a_whole_page_are_rendered_once(monkeypatch):
    """A hundred of the worst took two seconds a page: they pushed each other out of what is kept."""
    parsed = []
    parse = markdown._PARSER.parse
    monkeypatch.setattr(markdown._PARSER, "parse", lambda text: parsed.append(text) or parse(text))
    texts = [f"{n} {'[' * 100}" for n in range(3 * MAX_COMMENTS)]
    pages = [[render_markdown(text) for text in texts] for _ in range(2)]
    assert parsed == texts
    assert pages[0] == pages[1]
    assert markdown._SHORT >= MAX_TEXT
