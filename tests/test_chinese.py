"""Pages in Chinese: complete for annotators, while everything that programs read stays English."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import read_po
from django.conf import settings
from django.test import Client
from django.utils.formats import date_format
from django.utils.translation import ngettext, override
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.constraint_sentences import CONSTRAINTS
from annotator.core.schema.exact_json import loads
from annotator.core.sentence_patterns import rewritten
from annotator.core.sentences import EDITS, FINDINGS
from annotator.core.text import Message, counted_message
from annotator.services.accounts.languages import choose_language
from annotator.translation import place_name, translated, translated_text
from reviews.core.protocols import read_protocol
from reviews.services.protocols.readers import in_reader_language
from scripts.template_rules import READ_ATTRIBUTES, VERBATIM, VOID
from tests.access_project import AccessProject, access, module_access
from tests.access_table import EXPECTED
from tests.annotator.core.checks.check_cases import TOOLSET, answer, ask, call, document, run_checks, task
from tests.test_access_matrix import address

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CHINESE = "zh-hans"
CHARACTERS = re.compile("[\u4e00-\u9fff]")
#: Pages of annotators; their other addresses are of the API, files or redirects.
PAGES = [
    name
    for (name, method), roles in EXPECTED.items()
    if method == "GET" and roles["annotator"] == "200" and not name.startswith("api-") and name != "javascript-catalog"
]


class Reader(HTMLParser):
    """Collects the texts and labels of a page, without what is in another language or no language at all."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        other = tag != "html" and (given.get("lang") or CHINESE) != CHINESE
        if self.hidden or tag in VERBATIM or other or given.get("translate") == "no":
            if tag not in VOID:
                self.hidden.append(tag)
            return
        self.texts += [value or "" for name, value in attrs if name in READ_ATTRIBUTES]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.hidden:
            while self.hidden.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.texts.append(data)


def english_texts() -> tuple[set[str], list[re.Pattern[str]]]:
    """Return the English of the translations: those without values, and patterns of sentences with values."""
    plain: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    for domain in ("django", "djangojs"):
        with (Path(settings.LOCALE_PATHS[0]) / f"zh_Hans/LC_MESSAGES/{domain}.po").open("rb") as file:
            for message in read_po(file):
                forms = [message.id] if isinstance(message.id, str) else list(message.id)
                for text in filter(None, forms):
                    literal = re.sub(r"%\(\w+\)[sd]|<[^>]*>", "", text)
                    if literal == text and message.string != text and re.search(r"[a-z]{2}", text):
                        plain.add(" ".join(text.split()))
                    elif "%(" in text and len(re.findall(r"[a-z]{2,}", literal)) > 2 and "<" not in text:
                        escaped = re.sub(r"%\\\(\w+\\\)[sd]", ".+", re.escape(text)).replace("%%", "%")
                        patterns.append(re.compile(escaped))
    return plain, patterns


def left_in_english(page: str, plain: set[str], patterns: list[re.Pattern[str]]) -> Iterator[str]:
    reader = Reader()
    reader.feed(page)
    for text in {" ".join(text.split()) for text in reader.texts}:
        if text in plain or any(pattern.fullmatch(text) for pattern in patterns):
            yield text


@pytest.fixture
def reader(access: AccessProject) -> Client:
    """The annotator of the project, who reads Chinese."""
    annotator = access.people["annotator"]
    assert annotator is not None
    choose_language(actor=annotator, language=CHINESE)
    client = Client()
    client.force_login(annotator)
    return client


def test_no_page_of_an_annotator_keeps_a_text_in_english(access: AccessProject, reader: Client) -> None:
    plain, patterns = english_texts()
    # What people of the project chose or wrote.
    protocol = read_protocol(loads(access.team.project.protocol_versions.get().definition))
    written = {"Errors", "Note", "English", *(stage.title for stage in protocol.stages)}
    written |= {item.text for stage in protocol.stages for item in stage.checklist.items}
    written |= {text for kind in protocol.taxonomy for text in (kind.label, kind.description)}
    left: dict[str, list[str]] = {}
    for name in PAGES:
        response = reader.get(address(name, access.ids))
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            for close in response._resource_closers:  # response.close() would also close the database
                close()
            continue
        page = response.content.decode()
        assert f'<html lang="{CHINESE}"' in page or "<html" not in page, name
        assert response.get("Content-Language") == CHINESE, name
        left[name] = sorted({*left_in_english(page, plain, patterns)} - written)
    assert len(left) > 30
    assert {name: texts for name, texts in left.items() if texts} == {}


def test_a_choice_wins_over_the_browser_until_it_is_taken_back(reader: Client) -> None:
    assert "语言" in reader.get("/language/", headers={"accept-language": "en"}).content.decode()
    saved = reader.post("/language/", {"language": "en"}, follow=True, headers={"accept-language": "zh-CN"})
    assert "Saved. Pages and mails are now in this language." in saved.content.decode()
    saved = reader.post("/language/", {"language": ""}, follow=True, headers={"accept-language": "zh-CN"})
    assert "已保存。" in saved.content.decode()
    assert reader.post("/language/", {"language": "xx"}).status_code == 422
    # Nobody has chosen anything yet on the sign-in page.
    assert "创建账户需要邀请" in Client().get("/accounts/login/", headers={"accept-language": "zh-CN"}).content.decode()


def test_the_api_speaks_english_to_everybody(access: AccessProject, reader: Client) -> None:
    headers = {"accept-language": "zh-CN"}
    missing = reader.get("/api/projects/none/", headers=headers)
    assert missing.json()["sentence"] == "This project doesn’t exist, or you aren’t a member of it."
    wrong = reader.get(f"/api/projects/{access.slug}/dialogues/?colour=red", headers=headers)
    assert wrong.status_code == 400
    assert wrong.json()["sentence"].startswith("Unknown filter: “colour”.")
    notices = reader.get("/api/notices/", headers=headers)
    assert not CHARACTERS.search(notices.content.decode() + missing.content.decode() + wrong.content.decode())


def test_stored_messages_and_dates_follow_their_reader() -> None:
    stored = Message.from_json(counted_message("%(count)s dialogue", "%(count)s dialogues", 1200).to_json())
    with override(CHINESE):
        assert translated(stored) == "1,200 段对话"
        assert date_format(datetime(2026, 3, 5, tzinfo=UTC), "DATE_FORMAT") == "2026年3月5日"
        # Chinese has one form for all numbers.
        assert ngettext("%(count)s round", "%(count)s rounds", 1) == ngettext("%(count)s round", "%(count)s rounds", 7)
    assert translated(stored) == "1,200 dialogues"


def test_the_findings_of_checks_are_stored_in_english_and_shown_in_chinese() -> None:
    faulty = document(
        task("t1", "chat", "long_range_dependency", call("a", "searchHotels", "b", stars="5"), call("b", "none", "a")),
        task(
            "t2",
            None,
            None,
            call("c", "book_room", None, None, hotelId="{{hotel}}", board="half", nights=0, guest="Ann", contact=3),
            call("d", "book_room", None, [], hotelId="{{hotel}}", board="half", nights=0, guest="Ann", contact=3),
            ask("e", question=None, reply=None),
            answer("c c", text=None, kind=None),
            message="[Your name] wants 订一个房间, use book_room",
        ),
    )
    findings = run_checks(faulty, TOOLSET, stage="submit")
    assert len({one.check for one in findings}) > 15
    with override(CHINESE):
        shown = {one.message: translated_text(one.message) for one in findings}
        assert [text for text, chinese in shown.items() if chinese == text] == []
        assert place_name(faulty, "/tasks/t1/steps/a/arguments/city") == "任务 1、调用 a searchHotels、参数 city"
    assert not any(CHARACTERS.search(text.replace("订一个房间", "")) for text in shown)


def test_texts_of_a_preset_and_sentences_about_constraints_are_shown_in_chinese_and_what_people_wrote_is_not() -> None:
    told = "Constraint 1 (interaction_rounds) requires at least 5, but this constraint allows at most 3."
    with override(CHINESE):
        assert in_reader_language("Cross-check") == "交叉检查"
        assert in_reader_language("Our own check") == "Our own check"
        shown = translated_text(f"{told} Change one of them.")
        assert shown == "约束 1（interaction_rounds）要求至少 5，但此约束最多允许 3。请更改其中之一。"
    assert in_reader_language("Cross-check") == "Cross-check"


@given(st.sampled_from([text for text in FINDINGS + CONSTRAINTS + EDITS if "_words" not in text]), st.data())
def test_a_sentence_is_recognised_whatever_its_values_are(pattern: str, data: Any) -> None:
    names = re.findall(r"%\((\w+)\)s", pattern)
    # Between two values stands a text that neither contains, as quotation marks in real sentences do.
    values = {name: data.draw(st.text("abc 中文0", min_size=1, max_size=8)) for name in names}
    written = pattern % values if names else pattern.replace("%%", "%")
    assert rewritten(written, lambda text: text) == written


def test_no_text_recognises_a_sentence_slowly() -> None:
    hostile = "“" + "”: " * 2000
    assert rewritten(hostile, lambda text: text) == hostile
