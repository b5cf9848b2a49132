"""Index texts, queries, and the labels of a document."""

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotator.core.search import (
    MAX_INDEX,
    MAX_QUERY,
    MAX_TERMS,
    MAX_TITLE,
    Term,
    describe_document,
    parse_query,
    phrases,
    search_tokens,
    switches_of_entries,
    to_fts5,
    to_tsquery,
)
from annotator.models import Dialogue
from tests.annotator.document_cases import answer, call, clarification, document, documents, task, trip
from tests.factories import make_dialogue, make_project

HOSTILE = [
    "'", '"', "''; DROP TABLE x; --", '" OR 1=1', "a:b", "a:*", "& | ! ( ) <->", "NEAR(a b)", "a AND OR NOT b", "^a",
    "a\x00b", "{x}: y", "-a +b", "*", "\\", "\\'", "%s %(x)s", "𝒜𝓫", "\u202eabc", "🙂", "ﷺ", "İ", "\ud7a4", "a\u0300",
    "〇々ー", "\U0003134b", "1e5x 0x1f 1.5.2", "x" * 10_000, "北" * 10_000, "' \" : & | " * 1_000,
]  # fmt: skip


class Index:
    """An FTS5 table as the application's."""

    def __init__(self, *texts):
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE VIRTUAL TABLE docs USING fts5(t, tokenize='unicode61 remove_diacritics 0')")
        self.connection.executemany("INSERT INTO docs(t) VALUES (?)", [(search_tokens(text),) for text in texts])

    def find(self, query):
        terms = parse_query(query)
        rows = self.connection.execute("SELECT rowid FROM docs WHERE docs MATCH ? ORDER BY rowid", (to_fts5(terms),))
        return [row[0] - 1 for row in rows]


# --- tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("Fly me to Oslo!", "fly me to oslo"),
        ("it's 2026-05-01", "it s 2026 05 01"),
        ("北京天气", "北京 京天 天气 气"),
        ("去北京，好", "去北 北京 京 好"),
        ("G7016次iPhone", "g7016 次 iphone i phone"),
        ("searchFlights get_weather", "searchflights search flights get weather"),
        ("getCityAQIForecast", "getcityaqiforecast get city aqi forecast"),
        ("getV2Data", "getv2data get v 2 data"),
        ("ＡＢＣ１２ ﾃﾞｰﾀ", "abc12 デー ータ タ"),
        ("Straße ÉTÉ", "straße été"),
        ("İstanbul", "i stanbul"),
        ("a a b a", "a b"),
        ("北京 北京", "北京 京 北京 京"),
        ("🙂 \x00 --", ""),
        ("x" * 100, "x" * 60),
    ],
)
def test_tokens(text, tokens):
    assert search_tokens(text) == tokens


def test_an_index_text_has_an_end():
    for text in (" ".join(f"word{n}" for n in range(100_000)), "北京" * 100_000, "ﷺ" * 100_000):
        tokens = search_tokens(text)
        assert MAX_INDEX - 70 < len(tokens) <= MAX_INDEX or "ﷺ" in text
        assert len(tokens) <= MAX_INDEX
    assert search_tokens(["one", "two one"]) == "one two"
    assert search_tokens("x " * 3000 + "found") == "x found"


@given(st.text())
def test_tokens_are_letters_and_digits(text):
    for token in search_tokens(text).split(" "):
        assert token.isalnum() or token == ""
        assert token == token.lower()


# --- queries


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("", []),
        ("  ,.! ", []),
        ("Oslo", [Term(("oslo",), True)]),
        ("getWeather", [Term(("getweather",), True)]),
        ("get_weather", [Term(("get",), True), Term(("weather",), True)]),
        ("气", [Term(("气",), True)]),
        ("天气", [Term(("天气",), False)]),
        ("北京天气", [Term(("北京", "京天", "天气"), False)]),
        ("oslo 北京", [Term(("oslo",), True), Term(("北京",), False)]),
        ("oslo Oslo", [Term(("oslo",), True)]),
    ],
)
def test_queries(query, terms):
    assert parse_query(query) == terms


def test_queries_as_the_databases_read_them():
    terms = parse_query("fly 北京天 气 北京")
    assert to_tsquery(terms) == "'fly':* & '北京' & '京天' & '气':* & '北京'"
    assert phrases(terms) == ["北京 京天"]
    assert to_fts5(terms) == '"fly"* AND "北京 京天" AND "气"* AND "北京"'


def test_a_query_has_an_end():
    assert len(parse_query(" ".join(f"w{n}" for n in range(5000)))) <= MAX_TERMS
    assert sum(len(term.tokens) for term in parse_query("北" * 10_000)) == MAX_QUERY - 1


CORPUS = [
    "北京今天的天气怎么样？",
    "Fly to Oslo: searchFlights(city='Oslo')",
    "气温 of 上海",
    "get_weather for 北 京",
    "ＯＳＬＯ 航班",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("气", [0, 2]),
        ("样", [0]),
        ("天气", [0]),
        ("今天的", [0]),
        ("北京今天的天气怎么样", [0]),
        ("北京天气", []),
        ("北京", [0]),
        ("京", [0, 3]),
        ("osl", [1, 4]),
        ("OSLO", [1, 4]),
        ("flights", [1]),
        ("searchFl", [1]),
        ("search flights", [1]),
        ("slo", []),
        ("上海 气", [2]),
        ("weather 北", [3]),
    ],
)
def test_what_is_found(query, found):
    assert Index(*CORPUS).find(query) == found


@given(st.text(alphabet="北京天气上海", min_size=1, max_size=40), st.data())
def test_any_part_of_a_chinese_text_finds_it(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert Index(text).find(text[start:end]) == [0]


@given(st.text(alphabet="北京天", min_size=1, max_size=12), st.text(alphabet="北京天", min_size=2, max_size=5))
def test_chinese_is_found_only_where_it_stands(text, query):
    assert (Index(text).find(query) == [0]) == (query in text)


@given(st.text())
@example("a\x00b")
def test_no_query_is_an_error(query):
    terms = parse_query(query)
    if terms:
        Index(*CORPUS).find(query)
    allowed = set("':*&<->() ")
    assert all(character.isalnum() or character in allowed for character in to_tsquery(terms))
    assert to_fts5(terms).count('"') == 2 * len(terms)


@pytest.mark.django_db
def test_no_hostile_query_reaches_the_database_as_more_than_words():
    make_dialogue(make_project())
    for query in HOSTILE:
        for text in (query, f"{query} oslo", f"天{query}气"):
            assert list(Dialogue.objects.matching(text)[:3]) is not None


@pytest.mark.django_db
def test_the_database_finds_what_it_should():
    project = make_project()
    ids = [
        make_dialogue(project, document(task("t1", answer("s1"), user_message=text)), external_id=str(n)).external_id
        for n, text in enumerate(CORPUS)
    ]
    for query, found in [
        ("气", "02"), ("天气", "0"), ("今天的", "0"), ("北京天气", ""), ("京", "03"), ("osl", "14"), ("flights", "1"),
        ("searchFl", "1"), ("slo", ""), ("上海 气", "2"), ("weather 北", "3"), ("", "01234"),
    ]:  # fmt: skip
        rows = Dialogue.objects.filter(external_id__in=ids).matching(query)
        assert "".join(sorted(row.external_id for row in rows)) == found, query


# --- labels


def test_labels_of_a_document():
    labels = describe_document(trip())
    assert labels.policies == ["multi_tool", "chat"]
    assert labels.topologies == ["mixed", None]
    assert labels.information == ["explicit", None]
    assert (labels.task_count, labels.call_count, labels.switches, labels.language) == (2, 3, 1, "en")
    assert labels.tools == ["searchFlights", "getWeather", "bookFlight"]
    assert labels.title == "Fly me to Oslo if it is dry."


def test_what_is_indexed_and_in_which_order():
    data = document(
        task(
            "t1",
            call("s1", "getWeather", arguments={"city": ["Oslo", {"zip": 150}], "on": True}, observation="secret"),
            clarification("s2", "Where?"), answer("s3", "Sunny"), user_message="Weather?",
            candidate_messages=[{"id": "m1", "text": "rejected"}],
        ),
        task("t2", call("s1", arguments="{broken"), user_message="Thanks"),
        context=[{"role": "user", "content": "Hello"}],
    )  # fmt: skip
    assert describe_document(data).search_text == (
        "weather thanks getweather get search oslo 150 broken where sunny hello"
    )


@pytest.mark.parametrize(
    ("policies", "switches"),
    [
        (["chat"], 0),
        (["chat", "chat"], 0),
        (["chat", "clarify", "chat"], 2),
        (["chat", None, "clarify"], 0),
        ([None, None], 0),
    ],
)
def test_switches(policies, switches):
    data = document(*[task(f"t{n}", policy=policy) for n, policy in enumerate(policies)])
    assert describe_document(data).switches == switches


def test_an_entry_has_the_switches_up_to_its_task():
    """PTF belongs to the entry: of four tasks with two switches, the four entries have 0, 1, 1 and 2."""
    assert switches_of_entries(["chat", "clarify", "clarify", "chat"]) == [0, 1, 1, 2]
    assert switches_of_entries(["chat", None, "clarify"]) == [0, 0, 0]
    assert switches_of_entries([]) == []


def test_titles():
    def title(*messages):
        return describe_document(document(*[task(f"t{n}", user_message=m) for n, m in enumerate(messages)])).title

    assert title(" Fly \n me ") == "Fly me"
    assert title(" ", "Second") == "Second"
    assert title("") == ""
    assert title("a" * MAX_TITLE) == "a" * MAX_TITLE
    assert title("a" * 500) == "a" * (MAX_TITLE - 1) + "…"


@given(documents())
def test_any_document_has_labels(data):
    labels = describe_document(data)
    assert len(labels.policies) == len(labels.topologies) == len(labels.information) == labels.task_count
    assert len(labels.search_text) <= MAX_INDEX
