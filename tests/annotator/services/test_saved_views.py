"""Saved views: own ones and shared ones, names used once, and parts that no longer exist."""

import pytest
from django.db import IntegrityError, transaction
from django.http import QueryDict

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, SavedView
from annotator.services import saved_views
from annotator.services.dialogues.listing import NAMES, Filters
from annotator.services.saved_views import clean_query, delete_view, list_views, load_view, rename_view, save_view
from tests.factories import make_team

pytestmark = pytest.mark.django_db


def save(team, actor, name="Errors", query="problems=errors", **more):
    return save_view(actor=actor, project=team.project, name=name, query=query, **more)


def names(team, actor):
    return [view.name for view in list_views(actor=actor, project=team.project)]


def test_people_see_their_own_and_the_shared_ones(team):
    one, two = team.annotators[:2]
    own = save(team, one, "  My \t work ")
    shared = save(team, team.administrator, "All", shared=True)
    assert names(team, one) == ["All", "My work"]
    assert names(team, two) == ["All"]
    assert load_view(actor=two, project=team.project, public_id=shared.public_id) == shared
    for actor, project in ((two, team.project), (one, make_team().project)):
        with pytest.raises(Hidden):
            load_view(actor=actor, project=project, public_id=own.public_id)


def test_a_name_is_used_once_by_a_person_and_once_for_everybody(team):
    one, two = team.annotators[:2]
    view = save(team, one)
    save(team, two)
    save(team, team.administrator, shared=True)
    other = save(team, one, "Other")
    for again in (
        lambda: save(team, one),
        lambda: save(team, team.administrator, shared=True),
        lambda: rename_view(actor=one, view=other, name="Errors"),
    ):
        with pytest.raises(Conflict, match="already a view with the name “Errors”"):
            again()
    assert rename_view(actor=one, view=view, name="Errors").name == "Errors"
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedView.objects.create(project=team.project, person=one, name="Errors")


def test_only_administrators_change_shared_views_and_the_history_says_so(team):
    with pytest.raises(Denied):
        save(team, team.senior, shared=True)
    view = save(team, team.administrator, shared=True)
    for refused in (
        lambda: rename_view(actor=team.senior, view=view, name="Mine"),
        lambda: delete_view(actor=team.senior, view=view),
    ):
        with pytest.raises(Denied):
            refused()
    rename_view(actor=team.administrator, view=view, name="Wrong")
    delete_view(actor=team.administrator, view=view)
    events = Event.objects.filter(project=team.project, kind__startswith="project.view").order_by("pk")
    assert [(event.kind, event.after["name"]) for event in events] == [
        ("project.view_shared", "Errors"),
        ("project.view_renamed", "Wrong"),
        ("project.view_deleted", "Wrong"),
    ]
    with pytest.raises(Hidden):
        delete_view(actor=team.administrator, view=view)


def test_names_queries_and_numbers_are_bounded(team, monkeypatch):
    for wrong in ("", " \t", "x" * 81):
        with pytest.raises(Invalid):
            save(team, team.annotator, wrong)
    with pytest.raises(Invalid, match="too long"):
        save(team, team.annotator, query="q=" + "x" * 2000)
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 2)
    for name in "ab":
        save(team, team.annotator, name)
    with pytest.raises(Conflict, match="There can be 2 views"):
        save(team, team.annotator, "c")


def test_a_query_is_kept_without_blank_and_unknown_parts():
    query = QueryDict("status=&q=rain%20now&after=xyz&column=a&column=b&colour=red")
    assert clean_query(query, ["q", "status", "column"]) == "q=rain+now&column=a&column=b"


def test_parts_that_no_longer_exist_are_left_out_with_a_sentence(team):
    def read(query):
        Filters.of(query, project=team.project, stages=lambda: ["cross_check"])

    def usable(stored):
        return saved_views.usable_query(stored, NAMES, read)

    assert usable("status=verified&stage=cross_check") == ("status=verified&stage=cross_check", [])
    query, sentences = usable("status=verified&stage=gone&colour=red&check=no.such&meta=a%3Db")
    assert query == "status=verified&meta=a%3Db"
    assert [sentence.partition(".")[0] for sentence in sentences] == [
        "Unknown filter: “colour”",
        "“stage” can’t be “gone”",
        "“check” can’t be “no",
    ]
