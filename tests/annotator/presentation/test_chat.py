"""A dialogue as HTML: every kind of step, what is missing, and nothing that a document could smuggle in."""

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.checks import Finding
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.json_text import MAX_SHOWN, is_cut, pretty_json
from annotator.presentation.document import present
from tests.annotator.presentation.test_components import JSON
from tests.factories import make_document

HOSTILE = "\"'><script>alert(1)</script>&amp;"


class Reader(HTMLParser):
    """Checks that every element is closed, and notes names, ids and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag != "path":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(document: dict[str, Any], findings: Any = (), **how: str) -> Reader:
    reader = Reader()
    page = Template("{% load components %}{% dialogue_view view links paths %}")
    reader.feed(page.render(Context({"view": present(document, findings), "links": "", "paths": "", **how})))
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    return reader


def with_everything(text: str = "x") -> dict[str, Any]:
    """A dialogue with every kind of step, each text of which is ``text``."""
    document = make_document()
    document |= {"env_info": text, "context": [{"role": "user", "content": text}]}
    task = document["tasks"][0]
    task |= {"user_message": text, "env_info": text}
    call = next(step for step in task["steps"] if step["type"] == "call")
    call |= {"name": text, "arguments": {text: text}, "observation": [text]}
    question = {"id": "q1", "type": "clarification", "question": text, "user_reply": text, "depends_on": None}
    task["steps"].insert(0, question)
    task["steps"][-1] |= {"text": text, "depends_on": [{"id": call["id"], "kind": "logical"}]}
    return document


def test_nothing_of_a_document_becomes_markup() -> None:
    found = Finding("test.check", "error", "/tasks/t1", HOSTILE, "h")
    page = read(with_everything(HOSTILE) | {"language": HOSTILE}, [found], links=f"/work/{HOSTILE}/", paths=HOSTILE)
    assert "script" not in page.seen
    assert page.text.count(HOSTILE) >= 9


def test_what_is_missing_is_said() -> None:
    document = with_everything()
    document["context"] = [{"role": role, "content": ""} for role in ("user", "assistant")]
    for step in document["tasks"][0]["steps"]:
        step |= dict.fromkeys({"question", "user_reply", "observation", "text"} & set(step))
        step["depends_on"] = None
    text = read(document).text
    for sentence in ("Question not annotated", "Reply not annotated", "Answer not annotated", "Not annotated"):
        assert sentence in text
    assert text.count("Dependencies not annotated") == 3
    # An assistant's turn of calls alone was an empty block.
    assert text.count("No text.") == 2
    assert "If this turn called tools, the record keeps the calls; they aren’t shown here." in text


def test_places_can_be_opened_only_where_there_is_an_editor() -> None:
    document = with_everything()
    assert "hx-get" not in read(document).seen
    assert "hx-get" in read(document, links="/work/abc/").seen
    assert "Decision tree" in read(document, paths="/p/x/").text


def test_a_step_says_what_it_depends_on() -> None:
    text = re.sub(r"\s+", " ", read(with_everything()).text)
    assert "(order only)" in text
    assert "Depends on" in text


def json_html(value: Any) -> str:
    return str(macros("values").json(value))


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys (k), strings (s), numbers (n) and words (w) of a value, in order."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield "k", key
            yield from parts_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from parts_of(one)
    else:
        yield "s" if isinstance(value, str) else "w" if value is None or isinstance(value, bool) else "n", value


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


@given(JSON)
def test_every_part_of_a_value_has_its_colour(value: Any) -> None:
    parts = re.findall(r'<span class="([ksnw])">(.*?)</span>', json_html(value))
    assert [(css, json.loads(unescape(text))) for css, text in parts] == list(parts_of(value))
    assert text_of(json_html(value)) == pretty_json(value)


def test_a_huge_value_has_no_colours() -> None:
    assert "<span" not in json_html(["<" * 50_000])


@given(st.text())
def test_a_tag_of_a_key_escapes_it(key: str) -> None:
    html = Template("{% load components %}{% kbd key %}").render(Context({"key": key}))
    assert "<" not in html.removeprefix('<kbd aria-hidden="true">').removesuffix("</kbd>")


def test_what_is_constant_is_rendered_once_and_knows_nothing_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    template = Template(
        "{% load components %}{% constant %}{% if request %}known{% else %}nothing{% endif %}{% endconstant %}"
    )
    request = RequestFactory().get("/")
    assert template.render(Context({"request": request})) == "nothing"
    node = template.nodelist[1]
    monkeypatch.setattr(node, "nodelist", None)
    assert template.render(Context({"request": request})) == "nothing"


@pytest.mark.parametrize(
    "value",
    [
        list(range(300_000)),
        {f"k{n}": n for n in range(50_000)},
        "a" * (2 * MAX_SHOWN),
        [{"rows": [{"id": n, "name": "x" * 20} for n in range(20_000)]}],
        {"k" * (2 * MAX_SHOWN): 1},
        [10**900] * 1_000,
        [[]] * 100_000,
    ],
    ids=["list", "keys", "text", "rows", "key", "digits", "empty"],
)
def test_of_a_huge_value_the_beginning_is_shown_and_a_sentence_says_where_the_rest_is(value):
    """A list of 2 MB made a page of 8 MB."""
    html = json_html(value)
    assert len(html) < 4 * MAX_SHOWN
    assert len(html) > MAX_SHOWN // 2
    assert "in the editor or through the API" in html
    assert "…" in text_of(html).partition("Cut off")[0]


def test_a_value_of_the_longest_that_is_shown_is_shown_whole():
    value = ["x" * 96] * 1_000
    assert len(str(value)) == MAX_SHOWN
    assert not is_cut(value)
    assert text_of(json_html(value)) == pretty_json(value)
    assert is_cut([*value, 1])
