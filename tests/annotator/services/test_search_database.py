"""Full-text search as each database does it: the same words find the same dialogues on SQLite and PostgreSQL."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.models import Dialogue
from annotator.services.dialogues.revisions import lock_dialogue, revise
from tests.factories import make_dialogue, make_document, make_team

pytestmark = pytest.mark.django_db

MESSAGES = {
    "weather": "What is the weather like in Ghent on 2025-05-02?",
    "flight": "Book flight BA2490 to Zürich, please. L'aéroport est loin.",
    "tianqi": "今天北京的天气怎么样？",
    "qihou": "这里的气候很好,天天下雨。",
    "mixed": "帮我查一下 iPhone16 的价格",
    "code": "Call get_current_weather for user_42 with C++ and 50% off",
    "russian": "Какая погода в Москве?",
}


@pytest.fixture
def found(team):
    """Return what a query finds: ids of dialogues, each with one of the messages."""
    for name, message in MESSAGES.items():
        make_dialogue(team.project, write(message), external_id=name)

    def found(query):
        return set(Dialogue.objects.matching(query).values_list("external_id", flat=True))

    return found


def write(message, answer="Done."):
    document = make_document()
    task = document["tasks"][0]
    task["user_message"] = message
    task["steps"] = [{**task["steps"][1], "text": answer, "depends_on": []}]
    return document


EVERYTHING = set(MESSAGES)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # Words: by how they begin, whatever their case; all of them, in any order.
        ("weather", {"weather", "code"}),
        ("WEATHER", {"weather", "code"}),
        ("weath", {"weather", "code"}),
        ("eather", set()),
        ("ghent weather", {"weather"}),
        ("weather flight", set()),
        ("ba2490", {"flight"}),
        ("ba24", {"flight"}),
        ("zürich", {"flight"}),
        ("zurich", set()),
        ("погод", {"russian"}),
        ("МОСКВ", {"russian"}),
        ("2025", {"weather"}),
        # Names of programs, as people write them.
        ("get_current_weather", {"code"}),
        ("user_42", {"code"}),
        ("current", {"code"}),
        # Chinese: anywhere in the text, one character or more.
        ("天气", {"tianqi"}),
        ("天", {"tianqi", "qihou"}),
        ("气", {"tianqi", "qihou"}),
        ("样", {"tianqi"}),
        ("气候", {"qihou"}),
        ("天天", {"qihou"}),
        ("北京的天气", {"tianqi"}),
        ("北天京", set()),
        ("京的气", set()),
        ("候天", set()),
        ("今天 怎么样", {"tianqi"}),
        ("天气 气候", set()),
        # Both at once, full-width and half-width.
        ("iphone16 价格", {"mixed"}),
        ("ｉＰｈｏｎｅ１６", {"mixed"}),
        ("查一下iPhone16的价格", {"mixed"}),
        # Nothing that can be searched for finds everything, as if nothing had been typed.
        ("", EVERYTHING),
        ("   ", EVERYTHING),
        ("?!,.%", EVERYTHING),
        ("💥", EVERYTHING),
    ],
)
def test_what_a_query_finds(found, query, expected):
    assert found(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "'", '"', "''", "' OR '1'='1", "'); DROP TABLE annotator_dialogue; --", "weather'); --", "%s", "%(x)s", "%%",
        "a & b", "a | b", "!a", "a <-> b", "a:*", ":*", "& & &", "(((", ")))", "\\", "a\\'b", "a:ABCD", "<2>",
        "AND", "OR", "NOT", "NEAR(a b)", "a NEAR b", "*", "^a", "a*", "search_text:a", "{a b}:c", "-a", "a + b", '"a b',
        "\x00", "a\x00b", "\ud800", "\udfff天", "\u200b", "\ufeff", "\u202e", "İSTANBUL", "ſ", "ß", "Ⅳ", "½", "²", "𝟙",
        "𠀀", "𠀀𠀁", "\U0003134a", "한국어", "日本語テキスト", "e\u0301", "हिन्दी", "ไทย", "👩‍👩‍👧", "１２３",
        "1e5", "0x1f", "1.5",
        "a" * 10_000, "天" * 10_000, "a " * 5_000, "天 " * 5_000, "' " * 5_000, "http://a.b/c?d=e",
        "a@b.example", "/etc/passwd",
    ],
)  # fmt: skip
def test_a_hostile_query_is_only_a_query(found, query):
    assert found(query) <= EVERYTHING
    assert Dialogue.objects.count() == len(MESSAGES)


@pytest.mark.parametrize(
    "word",
    ["İSTANBUL", "straße", "Ⅳ", "𠀀", "한국어", "日本語", "naïve", "e\u0301te", "1e5", "0x1f", "12345678901234567890"],
)
def test_what_is_written_is_found_as_it_is_written(team, word):
    dialogue = make_dialogue(team.project, write(f"before {word} after"))
    assert Dialogue.objects.matching(word).get() == dialogue
    assert Dialogue.objects.matching(f"before {word}").get() == dialogue


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40))
def test_no_text_at_all_breaks_a_search(team, query):
    list(Dialogue.objects.matching(query)[:1])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="天气候北京今a b1", min_size=1, max_size=12), data=st.data())
def test_every_part_of_a_chinese_run_is_found(team, text, data):
    Dialogue.objects.filter(project=team.project).update(published=False)
    dialogue = make_dialogue(team.project, write(f"问{text}"))
    runs = [run for run in "".join(c if "一" <= c <= "鿿" else " " for c in f"问{text}").split() if run]
    run = data.draw(st.sampled_from(runs))
    start = data.draw(st.integers(0, len(run) - 1))
    part = run[start : data.draw(st.integers(start + 1, len(run)))]
    assert dialogue in Dialogue.objects.filter(published=True).matching(part)


def test_the_index_follows_the_head(team):
    dialogue = make_dialogue(team.project, write("A question about trains"))
    revise(
        actor=team.annotator,
        dialogue=lock_dialogue(dialogue.pk),
        seen=dialogue.head,
        document=write("A question about ferries"),
        message="",
    )
    assert not Dialogue.objects.matching("trains").exists()
    assert Dialogue.objects.matching("ferries").get() == dialogue


def test_the_index_follows_every_kind_of_write(team):
    one, two = (make_dialogue(team.project, write(f"Number {n}")) for n in ("one", "two"))
    Dialogue.objects.filter(pk=one.pk).update(search_text="updated in bulk")
    two.search_text = "saved"
    two.save()
    assert Dialogue.objects.matching("bulk").get() == one
    assert Dialogue.objects.matching("saved").get() == two
    assert not Dialogue.objects.matching("number").exists()
    Dialogue.objects.filter(pk=two.pk).update(title="another title", error_count=3)
    assert Dialogue.objects.matching("saved").get() == two


def test_the_index_forgets_what_was_deleted(team):
    row = Dialogue.objects.create(project=team.project, external_id="x", content_hash="x", search_text="shortlived")
    assert Dialogue.objects.matching("shortlived").exists()
    row.delete()
    assert not Dialogue.objects.matching("shortlived").exists()
    other = Dialogue.objects.create(project=team.project, external_id="y", content_hash="y", search_text="longlived")
    assert Dialogue.objects.matching("longlived").get() == other


def test_a_search_narrows_what_it_is_asked_of(team):
    other = make_team()
    mine, theirs = (make_dialogue(t.project, write("The same words")) for t in (team, other))
    hidden = make_dialogue(team.project, write("The same words, unpublished"), published=False)
    assert set(Dialogue.objects.matching("same")) == {mine, theirs, hidden}
    assert list(Dialogue.objects.visible_to(team.annotator).matching("same")) == [mine]
    assert list(Dialogue.objects.filter(project=team.project, published=True).matching("same").order_by("-pk")) == [
        mine
    ]
    assert Dialogue.objects.matching("same").filter(published=True).count() == 2


def test_a_long_dialogue_is_found_by_its_messages(team):
    document = make_document(tasks=64)
    for n, task in enumerate(document["tasks"]):
        task["user_message"] = f"marker{n} " + "filling " * 200
    dialogue = make_dialogue(team.project, document)
    assert Dialogue.objects.matching("marker0").get() == dialogue
    assert Dialogue.objects.matching("marker63").get() == dialogue


def test_a_very_long_word_is_found_by_its_beginning(team):
    dialogue = make_dialogue(team.project, write("x" * 5000 + " end"))
    assert Dialogue.objects.matching("x" * 60).get() == dialogue
    assert Dialogue.objects.matching("x" * 3000).get() == dialogue
    assert Dialogue.objects.matching("end").get() == dialogue


_IDS = [
    "Hotel-01",
    "hotel_2",
    "hotels",
    "motel-hotel",
    "100%-real",
    "1000",
    "Ä-1",
    "ä-2",
    "日本-1",
    "日-2",
    "\U0010ffff",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hotel", {"Hotel-01", "hotel_2", "hotels", "text"}),
        ("HOTEL", {"Hotel-01", "hotel_2", "hotels", "text"}),
        ("hotel-", {"Hotel-01", "text"}),
        ("hotel_", {"hotel_2", "text"}),
        ("100%", {"100%-real"}),
        ("100", {"100%-real", "1000"}),
        ("Ä", {"Ä-1"}),
        ("日", {"日本-1", "日-2"}),
        ("日本", {"日本-1"}),
        ("otel", set()),
        ("' OR 1=1 --", set()),
    ],
)
def test_a_search_finds_the_beginning_of_an_id_or_words(team, text, expected):
    other = make_team()
    for name in _IDS:
        make_dialogue(team.project, write("Nothing"), external_id=name)
        make_dialogue(other.project, write("Nothing"), external_id=name)
    make_dialogue(team.project, write("A room in a hotel"), external_id="text")
    make_dialogue(other.project, write("A room in a hotel"), external_id="text")
    rows = Dialogue.objects.filter(project=team.project, published=True)
    assert set(rows.searched(text, project=team.project).values_list("external_id", flat=True)) == expected
    named = rows.with_id_from(text).values_list("external_id", flat=True)
    assert list(named) == sorted(expected - {"text"}, key=str.lower)


@pytest.mark.parametrize("text", ["", "?!", "-"])
def test_a_search_for_no_word_finds_everything(team, text):
    rows = [make_dialogue(team.project, external_id=name) for name in ("-1", "x")]
    assert set(Dialogue.objects.filter(project=team.project).searched(text, project=team.project)) == set(rows)


def drop_other_indexes():
    """Leave PostgreSQL only the indexes of the search: so few rows are read faster otherwise."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = 'annotator_dialogue' "
            "AND (indexdef LIKE '%published' OR indexname = 'dialogue_external_id_once')"
        )
        for (name,) in cursor.fetchall():
            if name != "dialogue_search":
                cursor.execute(f"DROP INDEX {name}")


def test_the_beginning_of_an_id_is_found_by_its_index(team):
    drop_other_indexes()
    rows = Dialogue.objects.filter(project=team.project, published=True)
    for found in (rows.with_id_from("hotel"), rows.searched("hotel", project=team.project)):
        assert "dialogue_by_id_key" in found.explain()


@pytest.mark.postgres
def test_postgresql_searches_by_its_index(team):
    drop_other_indexes()
    for query in ("word", "天", "天气 北京", "word 天气"):
        assert "dialogue_search" in Dialogue.objects.filter(published=True).matching(query).explain()
