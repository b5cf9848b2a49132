"""Custom fields in a dispute: named by their titles, settled like built-in labels."""

from typing import Any

from annotator.core.comparison import discrepancies
from annotator.core.fields import read_fields
from reviews.services.adjudication.dispute_rows import DisputeRow, dispute_row
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
