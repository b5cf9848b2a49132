"""Records of two languages whose file was corrected in one: the other dialogue stays as it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from annotator.models import Dialogue
from annotator.services.dialogues.revisions import lock_dialogue, revise
from benchmark.core.formats import FORMATS
from benchmark.core.formats.native_remainder import native
from benchmark.models import ImportBatch
from reviews.models import Cycle
from tests.benchmark.conftest import candidate, counters
from tests.benchmark.formats.format_records import c3_record, wild_record
from tests.factories import Team, current

RunImport = Callable[..., ImportBatch]


def record_of(name: str) -> dict[str, Any]:
    """A record that comes back as it is, in both languages."""
    record = c3_record()
    if name == "wild":
        record = wild_record()
        record |= {key.removeprefix("english_"): value for key, value in record.items()}
    # Nothing in one language is an object of the other.
    whole: dict[str, Any] = json.loads(json.dumps(record))
    return whole


def kept_of(name: str, record: dict[str, Any]) -> list[bool]:
    """Whether anything is kept of each language beside its document."""
    return [bool(native(one.document)) for one in FORMATS[name].read(record)]


def edit(team: Team, dialogue: Dialogue, **fields: Any) -> None:
    """As an annotator does."""
    with transaction.atomic():
        locked = lock_dialogue(dialogue.pk)
        document = current(dialogue) | fields
        revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=document, message="")


@pytest.mark.parametrize("corrected", ["english_", ""])
@pytest.mark.parametrize("name", ["c3", "mmtb", "wild"])
def test_what_one_language_keeps_leaves_the_other_as_it_was(name: str, corrected: str) -> None:
    record = record_of(name)
    assert kept_of(name, record) == [False, False]
    # Of c3, the messages say what was said before; of wild, a field is missing.
    record[f"{corrected}answer_list"][0][-1]["observation"] = "It is not clear."
    if name == "wild":
        del record[f"{corrected}tools"]
    assert kept_of(name, record) == [bool(corrected), not corrected]


@pytest.mark.parametrize("name", ["c3", "mmtb"])
def test_a_file_corrected_in_one_language_takes_nothing_from_the_other(
    team: Team, run_import: RunImport, name: str
) -> None:
    run_import([record_of(name)], native_format=name)
    chinese = Dialogue.objects.get(language="zh")
    document = current(chinese)
    document["tasks"][0]["steps"][-1]["text"] = "晴。"
    edit(team, chinese, tasks=document["tasks"])
    head = Dialogue.objects.get(pk=chinese.pk).head_id
    record = record_of(name)
    record["english_answer_list"][0][-1]["observation"] = "It is not clear."
    assert counters(run_import([record], native_format=name))[1:5] == (0, 0, 1, 1)
    for dry_run in (True, False):
        batch = run_import([record], native_format=name, revise=True, reopen=True, dry_run=dry_run)
        assert counters(batch)[1:5] == (0, 1, 1, 0)
    assert Dialogue.objects.get(pk=chinese.pk).head_id == head
    assert Cycle.objects.filter(dialogue=chinese).count() == 1
    assert counters(run_import([record], native_format=name))[1:5] == (0, 0, 2, 0)


@pytest.mark.parametrize("name", ["c3", "mmtb", "wild"])
def test_languages_that_came_one_by_one_are_known_when_they_come_in_one_record(
    team: Team, run_import: RunImport, name: str
) -> None:
    record = record_of(name)
    english, chinese = FORMATS[name].read(record)
    run_import(
        [
            candidate(one.external_id, document=one.document, tools=one.tools, language=one.language, variant_group="g")
            for one in (english, chinese)
        ]
    )
    assert counters(run_import([record], native_format=name, revise=True))[1:5] == (0, 0, 2, 0)
    # Later edits by a person, even of the language, do not change that.
    edit(team, Dialogue.objects.get(external_id=chinese.external_id), language="en")
    record["english_answer_list"][0][-1]["observation"] = "It is not clear."
    assert counters(run_import([record], native_format=name))[1:5] == (0, 0, 1, 1)
