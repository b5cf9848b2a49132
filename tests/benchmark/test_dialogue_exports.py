"""Files with the list of dialogues: what the reader's list shows, in its order, in three formats."""

import csv
import io
import json

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.roles import Role
from annotator.models import Dialogue
from annotator.services.dialogues.listing import Filters
from annotator.services.dialogues.sorting import order_of
from annotator.services.dialogues.tags import change_tags
from benchmark.core.formats import FORMATS
from benchmark.services import exports
from benchmark.services.exports import COLUMNS, export_dialogues
from reviews.services.queue.claims import claim_slot
from tests.factories import give_role, make_dialogue, make_dialogues, make_document, make_item, make_team, open_slot

pytestmark = pytest.mark.django_db


def export(team, form, actor=None, sort="", columns=(), **filters):
    pieces = export_dialogues(
        actor=actor or team.annotator, project=team.project, filters=Filters(**filters), order=order_of(sort),
        form=form, columns=columns,
    )  # fmt: skip
    return b"".join(pieces)


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_csv_has_the_filtered_list_in_its_order_in_pages(team, monkeypatch):
    monkeypatch.setattr(exports, "_PAGE", 3)
    rows = make_dialogues(team.project, 10)
    Dialogue.objects.filter(pk__in=[row.pk for row in rows[:2]]).update(status="verified")
    ids = [row.external_id for row in rows]
    assert [row["id"] for row in table(export(team, "csv", sort="-id"))] == ids[::-1]
    assert [row["id"] for row in table(export(team, "csv", status="verified"))] == ids[:2]
    assert list(table(export(team, "csv"))[0]) == list(COLUMNS)
    assert table(export(team, "csv", status="rejected")) == []


def test_no_cell_is_run_as_a_formula_and_lists_are_json(team):
    document = make_document(tasks=2) | {"extra": {"=cmd": "-1+1", "source": ["a", "@b"], "model": "m"}}
    document["tasks"][0]["user_message"] = "=HYPERLINK(1)"
    make_dialogue(team.project, document, external_id="+1")
    (row,) = table(export(team, "csv", columns=["source", "model", "absent"]))
    assert (row["id"], row["title"]) == ("'+1", "'=HYPERLINK(1)")
    assert json.loads(row["policies"]) == [task["policy"] for task in document["tasks"]]
    assert json.loads(row["metadata"]) == {"model": "m", "source": ["a", "@b"]}
    assert (row["metadata.source"], row["metadata.model"], row["metadata.absent"]) == ('["a","@b"]', "m", "")


def test_jsonl_has_the_heads_as_neutral_records_that_can_be_imported(team):
    documents = [make_document("one"), make_document("two") | {"extra": {"temperature": 40.0}}]
    rows = [make_dialogue(team.project, document) for document in documents]
    lines = export(team, "jsonl", sort="-imported").splitlines()
    read = [FORMATS["neutral"].read(json.loads(line))[0] for line in lines]
    assert [(one.external_id, one.text) for one in read] == [
        (row.external_id, row.head.content) for row in reversed(rows)
    ]
    assert b"40.0" in lines[0]


def test_parquet_has_the_same_rows_and_the_contents(team, monkeypatch):
    from pyarrow import parquet

    monkeypatch.setattr(exports, "_DOCUMENTS", 2)
    rows = [make_dialogue(team.project, make_document(str(n))) for n in range(5)]
    found = parquet.read_table(io.BytesIO(export(team, "parquet"))).to_pylist()
    assert [row["id"] for row in found] == [row.external_id for row in rows]
    assert [row["document"] for row in found] == [row.head.content for row in rows]
    assert found[0]["policies"] == rows[0].policy_list
    assert json.loads(found[0]["tools"])
    empty = parquet.read_table(io.BytesIO(export(team, "parquet", status="rejected")))
    assert (empty.num_rows, empty.column_names) == (0, [*COLUMNS, "document", "tools"])


def test_answers_of_gold_items_and_owners_in_a_blind_stage_stay_hidden(team):
    _shown, answer = make_dialogues(team.project, 2)
    Dialogue.objects.filter(pk=answer.pk).update(gold_role="answer")
    for form in ("csv", "jsonl"):
        assert answer.external_id.encode() not in export(team, form)
        assert answer.external_id.encode() in export(team, form, actor=team.senior)
    owner, person = team.annotators[:2]
    item = make_item(team, "cross_check", external_id="blind-one")
    Dialogue.objects.filter(pk=item.pk).update(owner=owner)
    claim_slot(actor=person, slot=open_slot(item))
    row = next(row for row in table(export(team, "csv", actor=person)) if row["id"] == "blind-one")
    assert row["owner_id"].startswith("colleague-")
    assert owner.public_id.encode() not in export(team, "csv", actor=person)


def test_tables_have_the_tags_that_the_reader_sees(team):
    plain = make_dialogue(team.project, external_id="plain")
    item = make_item(team, "cross_check", external_id="blind-one")
    for row in (plain, item):
        change_tags(actor=team.administrator, dialogue=row, add=["hard", "again"])
    assert [row["tags"] for row in table(export(team, "csv", actor=team.senior))] == ['["again","hard"]'] * 2
    assert {row["tags"] for row in table(export(team, "csv"))} == {""}
    blind = give_role(team.project, team.annotators[1], Role.SENIOR_REVIEWER)
    claim_slot(actor=blind, slot=open_slot(item))
    assert {row["id"]: row["tags"] for row in table(export(team, "csv", actor=blind))} == {
        "plain": '["again","hard"]',
        "blind-one": "",
    }


def test_the_page_and_the_api_stream_the_same_file_to_members_only(team):
    make_dialogues(team.project, 3)
    client = Client()
    client.force_login(team.annotator)
    page = client.get(reverse("dialogue-export", args=[team.project.slug]), {"sort": "-id", "format": "jsonl"})
    api = client.get(reverse("api-dialogue-export", args=[team.project.slug]), {"sort": "-id", "format": "jsonl"})
    assert page.streaming
    assert b"".join(page.streaming_content) == b"".join(api.streaming_content)
    assert page["Content-Disposition"].startswith('attachment; filename="dialogues-')
    client.force_login(make_team().administrator)
    assert client.get(reverse("dialogue-export", args=[team.project.slug])).status_code == 404
