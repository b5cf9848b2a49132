"""Lists of dialogues: every filter, and pages forward and back without a gap or a double while others are added."""

import pytest
from django.core import signing
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.models import Dialogue, Finding, Role
from annotator.services.database.filters import UnknownFilter
from annotator.services.database.keyset import cursor_of
from annotator.services.dialogues.listing import PAGE_SIZE, Filters, count_dialogues, filter_dialogues, list_dialogues
from annotator.services.palette import search_all
from tests.factories import broken, make_dialogue, make_dialogues, make_document, make_team

pytestmark = pytest.mark.django_db


def ids(page):
    return [dialogue.pk for dialogue in page.rows]


def page_of(team, size=3, filters=None, **keys):
    return list_dialogues(actor=team.annotator, project=team.project, filters=filters or Filters(), size=size, **keys)


def every_page(team, size=3, filters=None):
    """All pages forward, then all pages back from the last."""
    forward = [page_of(team, size, filters)]
    while forward[-1].after is not None:
        forward.append(page_of(team, size, filters, after=forward[-1].after))
    back = [forward[-1]]
    while back[-1].before is not None:
        back.append(page_of(team, size, filters, before=back[-1].before))
    return forward, back


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, [0]), (1, [1]), (3, [3]), (4, [3, 1]), (7, [3, 3, 1]), (9, [3, 3, 3])]
)
def test_pages_hold_everything_once_in_order(team, count, sizes):
    rows = [row.pk for row in make_dialogues(team.project, count)] if count else []
    forward, back = every_page(team)
    assert [len(page.rows) for page in forward] == sizes
    assert [pk for page in forward for pk in ids(page)] == rows
    assert [pk for page in reversed(back) for pk in ids(page)] == rows
    assert forward[0].before is None
    assert forward[-1].after is None


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(0, 12), size=st.integers(1, 5), more=st.lists(st.integers(0, 3), max_size=6))
def test_what_was_there_is_read_once_while_others_are_added(team, count, size, more):
    Dialogue.objects.filter(project=team.project).update(published=False)
    there = [row.pk for row in make_dialogues(team.project, count)] if count else []
    page = page_of(team, size)
    read = ids(page)
    for added in more:
        if page.after is None:
            break
        if added:
            make_dialogues(team.project, added)
        page = page_of(team, size, after=page.after)
        read += ids(page)
    while page.after is not None:
        page = page_of(team, size, after=page.after)
        read += ids(page)
    assert len(read) == len(set(read))
    assert read == sorted(read)
    assert set(there) <= set(read)
    seen = ids(page)
    while page.before is not None:
        page = page_of(team, size, before=page.before)
        seen = ids(page) + seen
    assert seen == read


def test_the_usual_page_has_fifty(team):
    make_dialogues(team.project, 51)
    page = list_dialogues(actor=team.annotator, project=team.project, filters=Filters())
    assert (PAGE_SIZE, len(page.rows), page.after) == (50, 50, cursor_of(page.rows[-1]))


def test_a_page_that_has_become_empty_leads_on_to_others(team):
    """Its dialogues were archived, or changed so that the filter lets them go."""
    rows = make_dialogues(team.project, 9)
    page = page_of(team, after=cursor_of(rows[-1]))
    assert page.rows == []
    assert ids(page_of(team, before=page.before)) == [row.pk for row in rows[-3:]]
    page = page_of(team, before=cursor_of(rows[0]))
    assert page.before is None
    assert ids(page) == [row.pk for row in rows[:3]]


def test_a_cursor_says_nothing_and_cannot_be_made_up(team):
    """A place that no list has given out is refused, and not taken for the beginning."""
    rows = make_dialogues(team.project, 4)
    given = page_of(team, size=1).after
    for key in (rows[0].pk, rows[0].public_id, given[:-1], given.swapcase(), "W10:x:y", "x" * 10_000, "\x00"):
        for keys in ({"after": str(key)}, {"before": str(key)}):
            with pytest.raises(UnknownFilter, match="isn’t a valid page of this list"):
                page_of(team, size=9, **keys)
    assert ids(page_of(team, size=9, after="", before="")) == [row.pk for row in rows]
    assert signing.Signer(salt="annotator.keyset").unsign_object(given) == [
        rows[0].created_at.isoformat(),
        rows[0].public_id,
    ]


def test_what_came_in_together_is_in_no_order_of_its_own_and_read_once(team):
    rows = make_dialogues(team.project, 7)
    Dialogue.objects.filter(project=team.project).update(created_at=rows[0].created_at)
    forward, back = every_page(team)
    assert [row.public_id for page in forward for row in page.rows] == sorted(row.public_id for row in rows)
    assert [row.pk for page in reversed(back) for row in page.rows] == [row.pk for page in forward for row in page.rows]


def test_only_the_projects_own_published_dialogues_that_are_not_archived(team):
    shown = make_dialogue(team.project)
    make_dialogue(team.project, published=False)
    make_dialogue(team.project, archived_at=shown.created_at)
    make_dialogue(make_team().project)
    assert ids(page_of(team)) == [shown.pk]


def test_a_page_is_three_queries_and_leaves_the_text_where_it_is(team):
    for row in make_dialogues(team.project, 20):
        Dialogue.objects.filter(pk=row.pk).update(owner=team.annotators[row.pk % 3])
    with CaptureQueriesContext(connection) as queries:
        page = page_of(team, 20, Filters(text="", policy="single_tool", problems="clean"))
        assert {str(row.owner) for row in page.rows} == {"Ann1", "Ann2", "Ann3"}
        assert all(row.policy_list == ["single_tool"] for row in page.rows)
    # The second asks which of them are in a blind stage, the third for the tags of the others.
    assert len(queries) == 3
    assert "search_text" not in queries[0]["sql"]
    assert '"content"' not in queries[0]["sql"]


# --- filters ----------------------------------------------------------------------------------------------------------


def read(team, query):
    return Filters.of(QueryDict(query), project=team.project, stages=lambda: ["cross_check"])


@pytest.fixture
def mixed(team):
    """Dialogues that differ in everything that can be filtered by; what a query string's filters find of them."""
    chinese = make_document(tasks=2)
    chinese["language"] = "zh"
    chinese["tasks"][0]["user_message"] = "根特的天气怎么样？"
    rows = {
        "plain": make_dialogue(team.project, make_document(), external_id="plain"),
        "broken": make_dialogue(team.project, broken(make_document()), external_id="broken", status="in_review"),
        "chinese": make_dialogue(
            team.project, chinese, external_id="chinese", status="verified", stage="", owner=team.annotator
        ),
        "staged": make_dialogue(
            team.project, make_document("Bruges"), external_id="staged", status="in_review", stage="cross_check"
        ),
    }
    for name, count in (("plain", 0), ("broken", 0), ("chinese", 0), ("staged", 2)):
        Dialogue.objects.filter(pk=rows[name].pk).update(warning_count=count)

    def found(query):
        filters = read(team, query)
        kept = filter_dialogues(Dialogue.objects.filter(project=team.project), filters, project=team.project)
        return set(kept.values_list("external_id", flat=True))

    found.owner = team.annotator.public_id
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=in_review", {"broken", "staged"}),
        ("status=verified", {"chinese"}),
        ("status=rejected", set()),
        ("stage=cross_check", {"staged"}),
        ("policy=chat", {"chinese"}),
        ("policy=single_tool", {"plain", "broken", "chinese", "staged"}),
        ("policy=multi_tool", set()),
        ("topology=single", {"plain", "broken", "chinese", "staged"}),
        ("topology=parallel", set()),
        ("information=coreferential_reference", {"chinese"}),
        ("language=zh", {"chinese"}),
        ("problems=errors", {"broken"}),
        ("problems=warnings", {"staged"}),
        ("q=bruges", {"staged"}),
        ("q=Chin", {"chinese"}),
        ("q=stag&status=verified", set()),
        ("q=天气", {"chinese"}),
        ("q=天气&status=in_review", set()),
        ("q=weather&status=in_review", {"broken", "staged"}),
    ],
)
def test_filters(mixed, query, expected):
    assert mixed(query) == expected


def test_filters_of_owner_and_check(mixed):
    assert mixed(f"owner={mixed.owner}") == {"chinese"}
    check = Finding.objects.filter(dialogue__external_id="broken", severity="error").first().check_id
    assert mixed(f"check={check}") == {"broken"}


def test_a_check_whose_notes_only_administrators_see_is_unknown_to_others(team, client):
    for person, status in ((team.annotator, 400), (team.senior, 400), (team.administrator, 200)):
        client.force_login(person)
        pages = [
            client.get(f"{address}?check=graph.published_evaluator")
            for address in (
                f"/p/{team.project.slug}/dialogues/",
                f"/p/{team.project.slug}/dialogues/export/",
                f"/api/projects/{team.project.slug}/dialogues/",
                f"/api/projects/{team.project.slug}/dialogues/count/",
            )
        ]
        assert [page.status_code for page in pages] == [status] * 4, person
        if status == 400:
            assert all("can’t be “graph.published_evaluator”" in page.content.decode() for page in pages)


def test_what_is_clean_has_no_finding_that_counts(mixed):
    assert "broken" not in mixed("problems=clean")
    assert "staged" not in mixed("problems=clean")


@pytest.mark.parametrize(
    "query",
    [
        "status=nonsense", "policy=x", "topology=x", "information=x", "language=xx", "problems=x", "stage=no_such",
        "owner=nobody", "check=no.such", "status=%00", "policy=,", "policy=%25", "outdated=yes",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused_with_what_does(mixed, query):
    name = query.partition("=")[0]
    with pytest.raises(UnknownFilter, match=f"“{name}” can’t be “.*”. Use one of: “"):
        mixed(query)


def test_an_empty_value_is_none(mixed, team):
    assert read(team, "status=&policy=&owner=&q=") == Filters()


@pytest.mark.parametrize("value", ["x" * 10_000, "%", "_", "'", "\x00", "💥", "‮", "天" * 500, "\\"])
def test_odd_values_are_harmless(mixed, value):
    query = QueryDict(mutable=True)
    query["q"] = value
    assert mixed(query.urlencode()) <= {"plain", "broken", "chinese", "staged"}
    query = QueryDict(mutable=True)
    query["stage"] = value
    with pytest.raises(UnknownFilter):
        mixed(query.urlencode())


def test_filters_go_into_links_as_they_came(team):
    query = "q=rain&status=in_review&stage=cross_check&policy=chat&problems=errors&check=graph.cycle&language=en"
    query += f"&owner={team.annotator.public_id}"
    filters = read(team, query)
    assert Filters.of(filters.active, project=team.project, stages=lambda: ["cross_check"]) == filters
    assert filters.active == dict(QueryDict(query).items())
    assert Filters().active == {}


def test_pages_of_a_search_hold_everything_once(team):
    rows = make_dialogues(team.project, 10)
    Dialogue.objects.filter(pk__in=[row.pk for row in rows[::2]]).update(search_text="odd ones")
    forward, back = every_page(team, 2, Filters(text="odd"))
    wanted = [row.pk for row in rows[::2]]
    assert [pk for page in forward for pk in ids(page)] == wanted
    assert [pk for page in reversed(back) for pk in ids(page)] == wanted


def test_a_whole_id_finds_its_dialogue_wherever_its_words_stand(team):
    wanted = make_dialogue(team.project, make_document(), external_id="Rail/travel-01 🚚")
    make_dialogue(team.project, make_document("rail travel 01"), external_id="another")
    assert ids(page_of(team, filters=Filters(text="Rail/travel-01 🚚"))) == [wanted.pk]
    Dialogue.objects.filter(pk=wanted.pk).update(published=False)
    assert wanted.pk not in ids(page_of(team, filters=Filters(text="Rail/travel-01 🚚")))


def test_the_beginning_of_an_id_finds_only_what_its_reader_may_see(team):
    shown, answer = (make_dialogue(team.project, external_id=f"clinic-desk-{n}") for n in (1, 2))
    make_dialogue(make_team("other").project, external_id="clinic-desk-3")
    make_dialogue(team.project, external_id="clinic-desk-4", published=False)
    Dialogue.objects.filter(pk=answer.pk).update(gold_role="answer")

    def found(actor, roles):
        filters = Filters(text="clinic-desk")
        [dialogues] = search_all(actor=actor, text=filters.text, project=team.project, roles=roles)
        page = list_dialogues(actor=actor, project=team.project, filters=filters)
        assert count_dialogues(actor=actor, project=team.project, filters=filters).count == len(page.rows)
        assert [one["label"] for one in dialogues["results"]] == [row.external_id for row in page.rows]
        return ids(page)

    assert found(team.annotator, [Role.ANNOTATOR]) == [shown.pk]
    assert found(team.administrator, [Role.ADMINISTRATOR]) == [shown.pk, answer.pk]


def test_the_palette_shows_ids_that_begin_so_before_texts(team):
    texts = [make_dialogue(team.project, make_document("hotel"), external_id=f"a-{n}") for n in range(9)]
    make_dialogue(team.project, make_document("hotel"), external_id="hotel-02")
    make_dialogue(team.project, make_document("hotel"), external_id="Hotel-01")
    [dialogues] = search_all(actor=team.annotator, text="hotel", project=team.project)
    labels = [one["label"] for one in dialogues["results"]]
    assert labels == ["Hotel-01", "hotel-02", *(row.external_id for row in texts[:6])]
