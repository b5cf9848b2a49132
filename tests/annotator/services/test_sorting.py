"""Orders of the list of dialogues: pages one after the other are the whole sorted list, there and back."""

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.models import Dialogue
from annotator.services.database.filters import UnknownFilter
from annotator.services.dialogues.listing import Filters, list_dialogues
from annotator.services.dialogues.sorting import SORTS, VALUES, order_of, sort_of
from tests.factories import make_dialogues

pytestmark = pytest.mark.django_db

#: Values that differ in scripts, case and length, with many ties.
_TEXTS = st.sampled_from(["", "a", "B", "b", "é", "天气", "💥" * 150, "a b", "-1", "'"])
_COUNTS = st.integers(0, 2)


def read_all(team, sort, size):
    """All pages forward, and all pages back from the last, as keys."""
    order, forward, back = order_of(sort), [], []

    def page(**place):
        return list_dialogues(
            actor=team.annotator, project=team.project, filters=Filters(), order=order, size=size, **place
        )

    one = page()
    forward += [row.pk for row in one.rows]
    while one.after is not None:
        one = page(after=one.after)
        forward += [row.pk for row in one.rows]
    back = [row.pk for row in one.rows]
    while one.before is not None:
        one = page(before=one.before)
        back = [row.pk for row in one.rows] + back
    return forward, back


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sort=st.sampled_from(VALUES),
    size=st.integers(1, 4),
    values=st.lists(st.tuples(_TEXTS, _COUNTS, st.sampled_from(["candidate", "verified"])), min_size=9, max_size=9),
)
def test_pages_are_the_whole_sorted_list_there_and_back(team, sort, size, values):
    rows = list(Dialogue.objects.filter(project=team.project).order_by("pk")) or make_dialogues(team.project, 9)
    for n, (row, (text, count, status)) in enumerate(zip(rows, values, strict=True)):
        row.title, row.status = text[:160], status
        row.task_count = row.call_count = row.error_count = row.warning_count = count
        row.external_id = f"{text}{n}"
        row.created_at = row.updated_at = rows[count].created_at
    fields = ["title", "status", "task_count", "call_count", "error_count", "warning_count", "external_id"]
    Dialogue.objects.bulk_update(rows, [*fields, "created_at", "updated_at"])
    down = sort.startswith("-")
    by = dict.fromkeys([SORTS[sort.removeprefix("-")][0], "created_at", "public_id"])
    wanted = Dialogue.objects.filter(project=team.project).order_by(*(f"-{name}" if down else name for name in by))
    keys = list(wanted.values_list("pk", flat=True))
    assert read_all(team, sort, size) == (keys, keys)


def test_counts_are_in_the_order_of_their_values_and_ties_in_that_of_the_import(team):
    rows = make_dialogues(team.project, 4)
    for row, count in zip(rows, (1, 0, 2, 0), strict=True):
        Dialogue.objects.filter(pk=row.pk).update(task_count=count)
    one, two, three, four = (row.pk for row in rows)
    assert read_all(team, "tasks", 2)[0] == [two, four, one, three]
    assert read_all(team, "-tasks", 2)[0] == [three, one, four, two]


def test_a_place_in_one_order_is_refused_in_another(team):
    make_dialogues(team.project, 3)

    def page(sort, **place):
        order = order_of(sort)
        return list_dialogues(
            actor=team.annotator, project=team.project, filters=Filters(), order=order, size=1, **place
        )

    for sort in VALUES:
        place = page(sort).after
        for other in VALUES:
            if other == sort:
                assert page(other, after=place).rows
                continue
            with pytest.raises(UnknownFilter, match="“after” isn’t a valid page of this list"):
                page(other, after=place)


def test_unknown_orders_are_refused_with_the_known_ones():
    assert [sort_of(QueryDict(query)) for query in ("", "sort=", "sort=imported", "sort=-tasks")] == [
        "",
        "",
        "",
        "-tasks",
    ]
    for wrong in ("tasks,calls", "--tasks", "created_at", "-"):
        with pytest.raises(UnknownFilter, match="Use one of: “imported”, “-imported”"):
            sort_of(QueryDict(f"sort={wrong}"))
