"""Custom fields in a dispute: named by their titles, settled like built-in labels."""

import json
from typing import Any

import pytest

from annotator.core.comparison import discrepancies
from annotator.core.fields import read_fields
from annotator.core.schema import SchemaProblem
from annotator.core.schema.labels import MAX_SPANS
from annotator.errors import Invalid
from reviews.services.adjudication.dispute_rows import DisputeRow, dispute_row, unwritten
from reviews.services.submission.passages import read_passages
from reviews.services.submission.rulings import Dispute, Side, read_rulings, read_value
from tests.annotator.core.test_custom_fields import FIELDS, labelled


def disputed(left: dict[str, Any], right: dict[str, Any]) -> Dispute:
    one, other = labelled(left), labelled(right)
    found = discrepancies(one, other)
    fields = read_fields([*FIELDS, FIELDS[2] | {"key": "depends_on", "scope": "task"}])
    return Dispute(labelled({}), Side("One", one), Side("Other", other), found, [], fields)


def rows(dispute: Dispute) -> list[DisputeRow]:
    return [dispute_row(number, place, dispute, {}) for number, place in enumerate(dispute.discrepancies)]


def test_a_row_has_the_titles_of_the_field_and_of_its_options() -> None:
    (row,) = rows(disputed({"difficulty": "hard"}, {"difficulty": "easy"}))
    assert row.place == "task 1, “How hard is it?”"
    assert (row.left, row.right, row.base, row.editor) == ("Hard", "Easy", None, "label")
    assert row.options == [("easy", "Easy"), ("hard", "Hard")]
    assert row.may_be_none


def test_a_label_that_one_side_lacks_is_a_place_and_a_scale_takes_a_number() -> None:
    dispute = disputed({"depends_on": 2}, {})
    (row,) = rows(dispute)
    assert (row.left, row.right, row.editor, row.may_be_none) == ("2", None, "label", False)
    (line,) = read_rulings({row.anchor: {"choice": "third", "value": "5", "typed": True}})
    assert read_value(line, dispute.discrepancies[0], dispute) == 5


def marked(text: str, *passages: str) -> list[dict[str, Any]]:
    starts = [text.index(one) for one in passages]
    return [{"start": at, "end": at + len(one), "text": one} for at, one in zip(starts, passages, strict=True)]


def third(dispute: Dispute, typed: str) -> Any:
    (place,) = dispute.discrepancies
    (line,) = read_rulings({place.anchor: {"choice": "third", "value": typed, "typed": True}})
    return read_value(line, place, dispute)


def test_a_third_version_of_marked_words_is_the_words_one_passage_a_line() -> None:
    text = labelled({})["tasks"][0]["user_message"]
    words = text.split()
    one, other, last = words[0], words[1], " ".join(words[-2:])
    often = next(letter for letter in one if text.count(letter) > 1)
    dispute = disputed({"evidence": marked(text, one)}, {"evidence": marked(text, other, last)})
    (row,) = rows(dispute)
    assert (row.editor, row.value, row.mono) == ("passages", one, False)
    assert unwritten(dispute, row.anchor) == one
    assert third(dispute, f"\r\n {last} \r\n{one}\r\n") == marked(text, last, one)
    assert third(dispute, json.dumps(marked(text, one))) == marked(text, one)
    for typed, problem in (
        ("", "Enter at least one passage."),
        ("Atlantis", "“Atlantis” isn’t in the text."),
        (often, f"“{often}” is in the text more than once. Add the words around it."),
    ):
        with pytest.raises(Invalid) as refused:
            third(dispute, typed)
        assert refused.value.sentence == f"Task 1, “Evidence”: {problem}"
        assert refused.value.details["anchor"] == row.anchor


def test_more_marked_words_than_a_label_has_are_refused() -> None:
    text = " ".join(f"word{number:03}" for number in range(MAX_SPANS + 50))
    spans = read_passages("\n".join(text.split()), [text])
    assert len(spans) == MAX_SPANS + 1
    with pytest.raises(SchemaProblem, match="list of spans"):
        labelled({"evidence": spans})


def test_marked_words_that_lines_could_not_tell_apart_stay_json() -> None:
    text = labelled({})["tasks"][0]["user_message"]
    often = next(letter for letter in text if text.count(letter) > 1)
    last = text.rindex(often)
    spans = [{"start": last, "end": last + 1, "text": often}]
    (row,) = rows(disputed({"evidence": spans}, {}))
    assert row.editor == "json"
    assert json.loads(row.value) == spans
