"""Metadata of dialogues is stored with their heads; lists filter by it exactly."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.http import QueryDict

from annotator.models import Dialogue, DialogueMetadata
from annotator.services.database.filters import UnknownFilter
from annotator.services.dialogues import listing
from annotator.services.dialogues.listing import Filters, count_dialogues, list_dialogues
from annotator.services.dialogues.metadata import metadata_keys, metadata_of
from annotator.services.dialogues.revisions import create_revision, move_head
from tests.factories import make_dialogue, make_dialogues, make_document, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def sources(team):
    return {
        name: make_dialogue(team.project, make_document(name) | {"extra": extra}, external_id=name)
        for name, extra in {
            "web": {"source": "web", "model": {"name": "m1"}},
            "web2": {"source": "web2", "model": {"name": "m1"}},
            "both": {"source": ["web", "books"], "note": "50%_off=yes"},
            "none": {},
        }.items()
    }


def found(team, meta, **more):
    query = QueryDict(mutable=True)
    query.update({"meta": meta} | more)
    filters = Filters.of(query, project=team.project, stages=list)
    return [row.external_id for row in list_dialogues(actor=team.annotator, project=team.project, filters=filters).rows]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ("source=web", ["web", "both"]),
        ("source=books", ["both"]),
        ("source=we", []),
        ("source=WEB", []),
        ("model.name=m1", ["web", "web2"]),
        ("model=m1", []),
        ("note=50%_off=yes", ["both"]),
        ("note=50%", []),
        ("", ["web", "web2", "both", "none"]),
    ],
)
def test_the_filter_is_exact(team, sources, meta, expected):
    make_dialogue(make_team().project, make_document() | {"extra": {"source": "web"}})
    assert found(team, meta) == expected


def test_it_goes_with_other_filters_and_its_words_are_found(team, sources):
    assert found(team, "model.name=m1", q="web2") == ["web2"]
    assert found(team, "", q="books") == ["both"]
    assert found(team, "source=web", status="verified") == []


@pytest.mark.parametrize("meta", ["source", "=web", "source=", "a\0=b", "x" * 81 + "=y", "x=" + "y" * 201])
def test_half_a_filter_is_refused(team, meta):
    with pytest.raises(UnknownFilter, match=r"“meta” can’t be “.*”\. Use a key and its value, like source=web."):
        found(team, meta)


def test_a_new_head_replaces_the_metadata_of_the_old_one(team, sources):
    row = Dialogue.objects.select_related("project", "head").get(pk=sources["both"].pk)
    kept = DialogueMetadata.objects.get(dialogue=row, value="books").pk
    document = row.head.document() | {"extra": {"source": ["books", "letters"]}}
    move_head(
        dialogue=row, revision=create_revision(actor=team.senior, dialogue=row, document=document, parent=row.head)
    )
    assert metadata_of([row.pk]) == {row.pk: {"source": ["books", "letters"]}}
    assert DialogueMetadata.objects.filter(pk=kept).exists()
    assert found(team, "source=web") == ["web"]


def test_the_keys_of_a_project_are_listed_once_each(team, sources):
    assert metadata_keys(team.project) == ["model.name", "note", "source"]
    assert metadata_keys(make_team().project) == []


def test_the_migration_fills_what_is_there(team, sources):
    stored = set(DialogueMetadata.objects.values_list("dialogue", "key", "value"))
    words = dict(Dialogue.objects.values_list("pk", "search_text"))
    DialogueMetadata.objects.all().delete()
    Dialogue.objects.update(search_text="old")
    import_module("annotator.migrations.0018_fill_metadata").fill(apps, SimpleNamespace(connection=connection))
    assert set(DialogueMetadata.objects.values_list("dialogue", "key", "value")) == stored
    plain = sources["none"].pk
    assert dict(Dialogue.objects.values_list("pk", "search_text")) == words | {plain: "old"}


def test_the_total_is_exact_up_to_a_bound_and_counts_what_the_list_shows(team, monkeypatch):
    rows = make_dialogues(team.project, 5)
    Dialogue.objects.filter(pk=rows[0].pk).update(published=False)
    Dialogue.objects.filter(pk=rows[1].pk).update(gold_role="answer")

    def total(actor, **filters):
        counted = count_dialogues(actor=actor, project=team.project, filters=Filters(**filters))
        return counted.count, counted.exact

    assert total(team.administrator) == (4, True)
    assert total(team.annotator) == (3, True)
    assert total(team.annotator, status="verified") == (0, True)
    monkeypatch.setattr(listing, "MAX_COUNTED", 3)
    assert total(team.administrator) == (3, False)
    assert total(team.annotator) == (3, True)
