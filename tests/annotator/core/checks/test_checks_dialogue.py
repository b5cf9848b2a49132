"""dialogue.*: how the people in the dialogue speak."""

from typing import Any

import pytest

from annotator.core.checks.languages import foreign_text
from annotator.core.checks.placeholders import placeholder_in
from tests.annotator.core.checks.check_cases import answer, ask, document, findings, good, of, task


def saying(message: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(task("t1", "chat", "explicit", *(steps or (answer(kind="chat"),)), message=message), **more)


def test_people_who_speak_like_people_have_no_finding() -> None:
    assert [one for one in findings(good()) if one.check.startswith("dialogue.")] == []


@pytest.mark.parametrize("message", ["", "  \n"])
def test_a_message_without_words(message: str) -> None:
    assert of("dialogue.empty_message", saying(message)) == [("/tasks/t1/user_message", "Write the user message.")]


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Use searchHotels for Graz.", True),
        ("call SEARCHHOTELS(Graz)", True),
        ("用book_room订一间", True),
        ("Please search hotels in Graz and book a room.", False),
        # A word that happens to be a tool.
        ("Please translate this.", False),
        # Part of a longer word.
        ("The researchHotelsGroup called.", False),
        ("my_book_room_key", False),
    ],
)
def test_a_tool_named_in_the_user_s_words(message: str, named: bool) -> None:
    found = of("dialogue.tool_named", saying(message))
    assert bool(found) is named
    assert all(anchor == "/tasks/t1/user_message" for anchor, _ in found)


def test_a_reply_is_the_user_speaking_and_an_answer_is_not() -> None:
    spoken = saying("Hello.", ask("q", reply="With book_room, please."), answer("q", "I used book_room."))
    assert of("dialogue.tool_named", spoken) == [
        ("/tasks/t1/steps/q/user_reply", "The user names the tool “book_room”. Use words that a user would use.")
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Dear [Your Name], hello.", "[Your Name]"),
        ("Book {{city}} now", "{{city}}"),
        ("Send it to <insert address>.", "<insert address>"),
        ("Lorem ipsum dolor", "Lorem ipsum"),
        ("TODO: write this", "TODO:"),
        ("寄给【请填写姓名】", "【请填写姓名】"),
        ("See [your bookings](https://x.org).", None),
        ("Put it on my TODO list.", None),
        ("a < b and [1] and {x}", None),
        ("【通知】明天放假", None),
    ],
)
def test_placeholders_in_texts(text: str, left: str | None) -> None:
    assert placeholder_in(text) == left
    for dialogue, anchor in (
        (saying(text), "/tasks/t1/user_message"),
        (saying("Hello.", answer(text=text, kind="chat")), "/tasks/t1/steps/a/text"),
    ):
        assert [place for place, _ in of("dialogue.placeholder_text", dialogue)] == ([anchor] if left else [])


@pytest.mark.parametrize(
    ("text", "language", "foreign"),
    [
        ("What is the weather in Graz?", "en", None),
        ("It is 25°C – “fine” – in Zürich.", "en", None),
        ("今天格拉茨的天气怎么样？", "en", "今天格拉茨的天气怎么样？"),
        ("Please 帮我查一下明天上海的天气 thanks", "en", "帮我查一下明天上海的天气"),
        # Names and quotations.
        ("Who wrote 红楼梦?", "en", None),
        ("Translate “今天格拉茨的天气怎么样” for me.", "en", None),
        ("What does '今天格拉茨的天气怎么样' mean?", "en", None),
        (
            "I would like to know more about the company called 北京字节跳动科技有限公司 and its founders, its history "
            "and everything it makes and sells around the world.",
            "en",
            None,
        ),
        ("今天格拉茨的天气怎么样？", "zh", None),
        ("请帮我把 Bohemian Rhapsody by Queen and other songs 加入播放列表", "zh", None),
        ("gpt4o", "zh", None),
        ("Jazz and Rock", "zh", None),
        ("https://example.com/a/b/c/d/e/f/g/h/index.html", "zh", None),
        ("What is the weather in Graz tomorrow?", "zh", "What is the weather in Graz tomorrow?"),
    ],
)
def test_languages(text: str, language: str, foreign: str | None) -> None:
    assert foreign_text(text, language) == foreign
    assert bool(of("dialogue.language_mix", saying(text, language=language))) is (foreign is not None)


def test_a_text_in_another_language_is_quoted_at_its_place() -> None:
    bad = saying("Hello there.", answer(text="今天格拉茨的天气很好。", kind="chat"))
    assert of("dialogue.language_mix", bad) == [
        ("/tasks/t1/steps/a/text", "The dialogue is in English, but this text is not: “今天格拉茨的天气很好。”.")
    ]


def test_a_dialogue_without_a_language_cannot_mix_any() -> None:
    assert of("dialogue.language_mix", saying("今天格拉茨的天气怎么样？", language=None)) == []


def test_hostile_texts_are_read_in_linear_time() -> None:
    for sign in ("“", "(", "[your ", "{{", "<", "a", "'", "1@", "`", " "):
        findings(saying(sign * 50_000 + "今天格拉茨的天气怎么样"))
        findings(saying("x", answer(text=sign * 50_000, kind="chat"), language="zh"))
