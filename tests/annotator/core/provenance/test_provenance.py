"""Visibility of values: forms, spans, places and what each call can see."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison.anchors import resolve
from annotator.core.provenance import ArgumentTrace, Origin, Quality, SourceKind, trace
from annotator.core.provenance.dates_in_text import dates_in, may_hold_date
from annotator.core.provenance.search_targets import Observation, Text
from annotator.core.provenance.value_forms import fold, forms_for, forms_of
from tests.annotator.core.checks.check_cases import TOOLSET, answer, ask, call, depends, document, task


def found(value: Any, text: str) -> list[tuple[str, str]]:
    """(what is marked, quality) of a value in a text."""
    return [(text[hit.start : hit.end], str(hit.quality)) for hit in Text(text).hits(forms_of(value))]


@pytest.mark.parametrize(
    ("name", "text", "stands"),
    [
        ("guests", "a room in Ghent for 2 nights", False),
        ("guests", "a 2-night stay", False),
        ("guests", "2 rooms, please", False),
        ("guests", "2 nights for 2 guests", True),
        ("guests", "for 2 people", True),
        ("guests", "table for 2", True),
        ("nights", "for 2 nights", True),
        ("numberOfNights", "for 2 days", True),
        ("duration", "for 2 nights", True),
        ("party_size", "2 of us", True),
    ],
)
@pytest.mark.parametrize("value", [2, "2"])
def test_a_small_number_belongs_to_the_word_behind_it(value, name, text, stands):
    forms = forms_for(name, value, ["guests", "duration", "rooms", "party_size"])
    assert Text(text).has(forms) is bool(Text(text).hits(forms)) is stands
    assert Observation({"note": text}).has(forms) is bool(Observation({"note": text}).hits(forms)) is stands


@pytest.mark.parametrize(
    ("value", "text", "marked", "quality"),
    [
        # Words
        ("Graz", "Hotels in Graz, please.", "Graz", "exact"),
        ("graz", "Hotels in GRAZ", "GRAZ", "normalised"),
        ("LasVegas", "off to Las Vegas", "Las Vegas", "normalised"),
        ("in_person", "to see somebody in person", "in person", "normalised"),
        ("cut-resistant gloves", "Cut resistant gloves", "Cut resistant gloves", "normalised"),
        ("damage", "all damaged", "damaged", "inside"),
        ("dermatology", "the other dermatologist", "dermatologist", "inside"),
        ("成都", "从成都东出发", "成都", "exact"),
        ("ＡＢ１２", "code ab12", "ab12", "normalised"),
        ("ab12", "编号ＡＢ１２。", "ＡＢ１２", "normalised"),
        ("H-17", "take H-17.", "H-17", "exact"),
        ("ID 7 A", "id7a", "id7a", "normalised"),
        # Numbers
        (3, "for 3 nights", "3", "exact"),
        (5.0, "5 nights", "5", "normalised"),
        (1000, "1,000 units", "1,000", "normalised"),
        ("1000", "1,000 units", "1,000", "normalised"),
        ("1,000", "1000 units", "1000", "normalised"),
        (34.05369, "latitude 34.053690 and", "34.053690", "normalised"),
        (0.5, "transparency set to 50%", "50%", "normalised"),
        (50, "set to 50 %", "50", "exact"),
        (12_000_000, "12 million people", "12 million", "normalised"),
        (30_000, "3万元", "3万", "normalised"),
        (2, "Two of us", "Two", "normalised"),
        (25, "twenty-five people", "twenty-five", "normalised"),
        (3, "我们三个人", "三", "normalised"),
        (23, "二十三个", "二十三", "normalised"),
        (15_000, "一万五左右", "一万五", "normalised"),
        (120, "一百二十元", "一百二十", "normalised"),
        (200_000_000, "两亿人", "两亿", "normalised"),
        (150, "a hundred and fifty seats", "a hundred and fifty", "normalised"),
        (2_305, "two thousand three hundred and five", "two thousand three hundred and five", "normalised"),
        (1_250_000, "1\u202f250\u202f000 €", "1\u202f250\u202f000", "normalised"),
        (0.00001, "a rate of 0.00001", "0.00001", "normalised"),
        ("5551234567", "call 555-123-4567.", "555-123-4567", "normalised"),
        ("4111111111111111", "4111 1111 1111 1111", "4111 1111 1111 1111", "normalised"),
        (2024, "on 2024-07-05.", "2024-07-05", "inside"),
        (-12, "12 pairs were damaged", "12", "normalised"),
        (300, "cable ties 300mm", "300", "exact"),
        (5, "3-5 days", "5", "exact"),
        # Dates and times
        ("2024-07-05", "on 2024-07-05.", "2024-07-05", "exact"),
        ("2024-07-05", "on July 5, 2024 we", "July 5, 2024", "normalised"),
        ("2024-07-05", "the 5th of July", "5th of July", "normalised"),
        ("2024-07-05", "5 Jul 2024", "5 Jul 2024", "normalised"),
        ("2024-07-05", "05/07/2024", "05/07/2024", "normalised"),
        ("2024-07-05", "07/05/24", "07/05/24", "normalised"),
        ("2024-07-05", "2024/7/5", "2024/7/5", "normalised"),
        ("2024-07-05", "7月5日出发", "7月5日", "normalised"),
        ("2024-07-05", "2024年7月5日出发", "2024年7月5日", "normalised"),
        ("2024-07-05", "七月五号", "七月五号", "normalised"),
        ("20240705", "July 5th", "July 5th", "normalised"),
        ("2024-07-14", "July 13-14, 2024", "July 13-14, 2024", "normalised"),
        ("2024-07-13", "13 to 14 July", "13 to 14 July", "normalised"),
        ("July 5, 2024", "2024-07-05", "2024-07-05", "normalised"),
        ("2024-07-05", "starts 2024-07-05T09:20", "2024-07-05", "normalised"),
        ("2024-07", "in July 2024", "July 2024", "normalised"),
        ("08:00", "not before 8:00", "8:00", "normalised"),
        ("20:30", "at 8:30 pm", "8:30 pm", "normalised"),
        ("15:00", "下午3点", "下午3点", "normalised"),
        ("14:30", "下午两点三十分", "下午两点三十分", "normalised"),
        ("09:45", "上午九点三刻", "上午九点三刻", "normalised"),
        ("09:00", "九点一起走", "九点", "normalised"),
        ("09:00", "at 9 o’clock", "9 o’clock", "normalised"),
        ("14:30", "at 2.30 pm", "2.30 pm", "normalised"),
    ],
)
def test_a_value_is_found_in_this_form(value: Any, text: str, marked: str, quality: str) -> None:
    assert found(value, text)[0] == (marked, quality)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("H-17", "H-170"),
        ("show", "show_id"),
        ("art", "the party"),
        ("12", "12.5"),
        (12, "1,012"),
        (12, "2024-07-12"),
        (30, "at 08:30"),
        (5, "R5 and 15"),
        (3, "13, 30, 3.5"),
        ("00471185", "471185"),
        ("2024-07-05", "2023-07-05"),
        ("2024-07-05", "July 6"),
        ("2024-13-05", "May 13"),
        ("08:00", "at 09:00"),
        (2, "twosome"),
        (10_005, "一万五"),
        (50, "a hundred and fifty seats"),
        ("1234567", "12345678"),
        ("home", "hometown heroes"),
    ],
)
def test_a_value_is_not_found_there(value: Any, text: str) -> None:
    assert found(value, text) == []


def in_json(value: Any, root: Any) -> list[tuple[str | None, int, int, str, bool]]:
    hits = Observation(root).hits(forms_of(value))
    return [(hit.path, hit.start, hit.end, str(hit.quality), hit.whole) for hit in hits]


def test_values_of_an_observation_have_a_path() -> None:
    root = {"items": [{"id": 412, "at": "2026-02-17T09:20"}, {"id": "0412", "note": "see issue 412, twice"}]}
    assert in_json(412, root) == [
        ("/items/0/id", 0, 3, "exact", True),
        ("/items/1/note", 10, 13, "exact", False),
    ]
    assert in_json("412", root)[0] == ("/items/0/id", 0, 3, "normalised", True)
    assert in_json("2026-02-17", root) == [("/items/0/at", 0, 10, "normalised", False)]
    assert in_json("issue", root) == [("/items/1/note", 4, 9, "exact", False)]
    assert in_json("items", root) == [("/items", 0, 5, "inside", False)]
    assert in_json("nothing", root) == []


@pytest.mark.parametrize(
    ("value", "root", "there"),
    [
        (2, [1, 2, 3], True),
        (345, [12, 345], True),
        (12345, [12, 345], False),
        ("las vegas", {"las": "vegas"}, False),
        ("a/b", {"x": 'say "a/b"\nnow'}, True),
        ("1,500", {"n": 1500}, True),
        (1.5, {"n": "1.50 EUR"}, True),
        ("Zürich", {"city": "ZÜRICH"}, True),
    ],
)
def test_asking_whether_and_asking_where_agree(value: Any, root: Any, there: bool) -> None:
    body, forms = Observation(root), forms_of(value)
    assert body.has(forms) is there
    assert bool(body.hits(forms)) is there


# Places


def one(document: dict[str, Any], anchor: str) -> ArgumentTrace:
    argument = trace(document, TOOLSET).argument(anchor)
    assert argument is not None
    return argument


CITY = "/tasks/t1/steps/s0/arguments/city"


def simple(message: str = "Please do.", *steps: dict[str, Any], city: Any = "Graz", **more: Any) -> dict[str, Any]:
    first = task("t1", "single_tool", "explicit", *steps, call("s0", "searchHotels", city=city), message=message)
    return document(first, **more)


def test_every_kind_of_place_has_its_name_and_anchor() -> None:
    earlier = task(
        "t0",
        "clarify",
        "explicit",
        ask("q", question="Graz or Linz?", reply="Graz."),
        call("s0", "searchHotels", "q", observation={"city": "Graz", "left": 2}, city="Graz"),
        answer("s0", "In Graz there are two."),
        message="Hotels in Graz",
    )
    later = task(
        "t1",
        "clarify",
        "partial_information",
        ask("q", question="Still Graz?", reply="Yes, Graz"),
        call("s1", "translate", observation="Graz is Gradec", text="Graz"),
        call("s0", "searchHotels", "q s1", city="Graz"),
        message="And with four stars in Graz?",
    )
    talk = [{"role": "system", "content": "You are in Graz."}, {"role": "assistant", "content": "Graz it is."}]
    sources = one(document(earlier, later, env_info="Graz, 2024", context=talk), CITY).sources
    assert [(str(source.kind), source.anchor, source.path, source.step) for source in sources] == [
        ("message", "/tasks/t1/user_message", None, ""),
        ("question", "/tasks/t1/steps/q/question", None, "q"),
        ("reply", "/tasks/t1/steps/q/user_reply", None, "q"),
        ("env_info", "/env_info", None, ""),
        ("env_info", "/context/0/content", None, ""),
        ("observation", "/tasks/t1/steps/s1/observation", "", "s1"),
        ("earlier_answer", "/tasks/t0/steps/a/text", None, "a"),
        ("earlier_observation", "/tasks/t0/steps/s0/observation", "/city", "s0"),
        ("earlier_message", "/tasks/t0/steps/q/user_reply", None, "q"),
        ("earlier_answer", "/tasks/t0/steps/q/question", None, "q"),
        ("earlier_message", "/tasks/t0/user_message", None, ""),
        ("earlier_answer", "/context/1/content", None, ""),
    ]


def test_the_schema_gives_defaults_and_choices() -> None:
    booking = task("t1", "single_tool", "explicit", call("s0", "book_room", hotelId="H-1", nights=1, board="full"))
    board = one(document(booking), "/tasks/t1/steps/s0/arguments/board")
    assert board.origin is Origin.SCHEMA
    assert [(source.kind, source.anchor, source.span) for source in board.sources] == [
        (SourceKind.ENUM, "/book_room/parameters/properties/board/enum", None)
    ]


@pytest.mark.parametrize("value", ["", 0, 1, -1, "1", "x"])
def test_what_stands_everywhere_needs_no_source(value: Any) -> None:
    argument = one(simple(city=value), CITY)
    assert argument.origin is Origin.COMMON
    assert argument.sources == ()


def test_true_false_and_null_are_not_traced() -> None:
    booking = call("s0", "book_room", hotelId="H-1", nights=2, contact=None, guests=[{"name": True}])
    (traced,) = trace(document(task("t1", None, None, booking)), TOOLSET).tasks[0].calls
    assert [argument.path for argument in traced.arguments] == [("hotelId",), ("nights",)]


def test_a_call_sees_what_comes_before_it_or_what_it_depends_on() -> None:
    def origin(*steps: dict[str, Any]) -> Origin:
        return one(document(task("t1", None, None, *steps)), CITY).origin

    gives = call("s1", "translate", observation="It is Graz in all", text="x")
    assert origin(gives, call("s0", "searchHotels", city="Graz")) is Origin.OBSERVATION
    assert origin(call("s0", "searchHotels", city="Graz"), gives) is Origin.NOWHERE
    assert origin(call("s0", "searchHotels", "s1", city="Graz"), gives) is Origin.OBSERVATION
    waits = {**gives, "depends_on": depends("s0")}
    assert origin(waits, call("s0", "searchHotels", city="Graz")) is Origin.NOWHERE
    assert origin(ask("q", reply="In Graz"), call("s0", "searchHotels", city="Graz")) is Origin.REPLY


def test_what_is_not_written_yet_may_hold_the_value() -> None:
    def origin(*steps: dict[str, Any]) -> Origin:
        return one(document(task("t1", None, None, *steps, call("s0", "searchHotels", city="Graz"))), CITY).origin

    assert origin() is Origin.NOWHERE
    assert origin(call("s1", "translate", observation=None, text="x")) is Origin.UNKNOWN
    assert origin(ask("q", reply=None)) is Origin.UNKNOWN
    talk = [{"role": "user", "content": "Hello"}]
    assert one(simple(context=talk), CITY).origin is Origin.UNKNOWN


def test_marked_values_keep_their_reason() -> None:
    booking = {**call("s0", "searchHotels", area={"latitude": 47.07, "longitude": 15.44})}
    booking["inferable"] = {"/area": "Where Graz lies."}
    traced = trace(document(task("t1", None, None, booking)), TOOLSET).tasks[0].calls[0]
    assert [(argument.origin, argument.reason) for argument in traced.arguments] == [
        (Origin.INFERABLE, "Where Graz lies."),
        (Origin.INFERABLE, "Where Graz lies."),
    ]


@pytest.mark.parametrize(
    ("value", "message", "marked"),
    [
        ("de", "An audiobook in German, please.", "German"),
        ("pt-br", "Does anybody speak Portuguese?", "Portuguese"),
        ("EUR", "I have 20 euros.", "euros"),
        ("zh", "请用中文", "中文"),
    ],
)
def test_a_code_follows_from_its_name(value: str, message: str, marked: str) -> None:
    argument = one(simple(message, city=value), CITY)
    (source,) = argument.sources
    assert source.span is not None
    assert (argument.origin, source.quality) == (Origin.MESSAGE, Quality.INSIDE)
    assert message[slice(*source.span)] == marked


@pytest.mark.parametrize(
    ("value", "message", "follows"),
    [
        ("2024-07-13", "The weather this weekend?", True),
        ("2024-07-15", "The weather this weekend?", False),
        ("2024-07-13", "And tomorrow?", True),
        ("2024-07-14", "And tomorrow?", False),
        ("2024-07-19", "On Friday.", True),
        ("2024-07-18", "On Friday.", False),
        ("2024-07-13", "明天天气怎么样", True),
        ("2024-07-13", "Book it.", False),
    ],
)
def test_a_date_follows_from_env_info_and_a_word_for_a_time(value: str, message: str, follows: bool) -> None:
    argument = one(simple(message, city=value, env_info="Today is 2024-07-12."), CITY)
    assert argument.origin is (Origin.ENV_INFO if follows else Origin.NOWHERE)
    kinds = [str(source.kind) for source in argument.sources]
    assert kinds == (["message", "env_info"] if follows else [])


def test_without_env_info_nobody_knows_what_day_it_is() -> None:
    assert one(simple("This year, please.", city=2024), CITY).origin is Origin.UNKNOWN
    assert one(simple("This year, please.", city=2024, env_info="A library."), CITY).origin is Origin.NOWHERE


def test_a_composed_text_stands_by_its_words() -> None:
    argument = one(simple("Find pet groomers in Sydney.", city="pet groomers close to Sydney"), CITY)
    assert argument.origin is Origin.MESSAGE
    assert {source.quality for source in argument.sources} == {Quality.INSIDE}
    assert one(simple("Find pet groomers.", city="dog barbers, downtown Sydney"), CITY).origin is Origin.NOWHERE
    # Words do not vouch for a number or an id among them.
    assert one(simple("Find pet groomers.", city="pet groomers 4711"), CITY).origin is Origin.NOWHERE


def test_tracing_one_task_looks_at_earlier_ones() -> None:
    first = task("t0", "chat", "explicit", answer(kind="chat"), message="I live in Graz.")
    both = document(first, simple()["tasks"][0])
    traced = trace(both, TOOLSET, only_task="t1")
    assert [one.id for one in traced.tasks] == ["t1"]
    assert traced.tasks[0].calls[0].arguments[0].sources[0].anchor == "/tasks/t0/user_message"
    assert traced.task("t0") is None
    assert traced.call("t1", "s9") is None
    assert traced.argument("/tasks/t1/steps/s0/arguments/none") is None


# Whatever comes

values = (
    st.integers(-(10**6), 10**6)
    | st.floats(-1000, 1000).map(lambda x: round(x, 3))
    | st.text(st.sampled_from("abz 019-.,:%/月日三十ＡéßİǅＺ_\n"), max_size=12)
)
texts = st.text(st.sampled_from("abz 019-.,:%/月日三十ＡéßİǅＺ_\n"), max_size=60)


@given(values, texts, texts)
def test_a_value_is_found_in_any_text_that_says_it_apart(value: Any, before: str, after: str) -> None:
    forms = forms_of(value)
    if not forms.common and str(value).strip():
        text = f"{before} | {value} | {after}"
        assert Text(text).has(forms) or "e-" in str(value)


@given(texts)
def test_folding_moves_nothing(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(
    values, st.recursive(values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
)
def test_spans_and_paths_lead_to_something(value: Any, root: Any) -> None:
    if isinstance(root, dict | list):
        for hit in Observation(root).hits(forms_of(value)):
            assert hit.path is not None
            parent = resolve({"root": root}, f"/root{hit.path}") if hit.path else root
            assert 0 <= hit.start < hit.end
            assert hit.whole is False or hit.end == len(str(parent))


def test_a_text_that_holds_a_date_is_never_passed_over() -> None:
    months = ["january", "jan", "september", "sept", "sep", "december"]
    written = [f"{name} 5, 2026" for name in months] + ["5th of may", "the 5-7 march", "from may 5 to 9", "sep 2026"]
    for month, day in ((9, 5), (12, 24), (3, 31)):
        for m in (str(month), f"{month:02}"):
            for d in (str(day), f"{day:02}"):
                written += [f"x 2026-{m}-{d} y", f"2026/{m}/{d}", f"{d}.{m}.2026", f"{m}/{d}/26", f"2026年{m}月{d}日"]
        written += [f"2026{month:02}{day:02}", f"2026-{month:02}", f"{month}月{day}号", "九月五日"]
    for text in written:
        found = dates_in(text)
        assert found, text
        for date, _ in found:
            assert may_hold_date(text, date), (text, date)
