"""Agreement on custom fields: choices are nominal, scales ordinal, and sets compared by MASI."""

from typing import Any

import pytest

from annotator.core.fields import read_fields
from annotator.core.schema import read_document
from reviews.core.agreement import (
    PatternCounts,
    SubmittedReview,
    krippendorff_alpha,
    rated_fields,
    rating_units,
    summarise,
)
from reviews.core.agreement.custom_fields import masi_distance
from tests.annotator.core.test_custom_fields import labelled
from tests.annotator.document_cases import call, document, task

FIELDS = rated_fields(
    read_fields(
        [
            {
                "key": "kind",
                "title": "Kind",
                "type": "choice",
                "scope": "task",
                "options": [{"value": "a", "title": "A"}, {"value": "b", "title": "B"}],
            },
            {"key": "quality", "title": "Quality", "type": "scale", "scope": "task", "low": 1, "high": 3},
            {
                "key": "topics",
                "title": "Topics",
                "type": "multi",
                "scope": "task",
                "options": [{"value": one, "title": one} for one in "abc"],
            },
            {"key": "note", "title": "Note", "type": "text", "scope": "task"},
        ]
    )
)


def approve(content: Any) -> SubmittedReview:
    return SubmittedReview("approve", content)


def test_labels_are_units_of_their_part_and_missing_for_who_rejected() -> None:
    one, other = labelled({"kind": "a", "topics": ["c", "a"]}), labelled({"kind": "b"})
    units = rating_units([approve(one), approve(other), SubmittedReview("reject", one)])
    found = {(unit.label, unit.task): unit.pattern for unit in units if unit.label.startswith("field:")}
    assert found == {("field:kind", "/tasks/t1"): ("a", "b", None), ("field:topics", "/tasks/t1"): ("a|c", None, None)}


def test_labels_of_calls_are_matched_as_the_calls_are() -> None:
    first = [call("s1", "search", labels={"quality": 1}), call("s2", "book", labels={"quality": 2})]
    second = [call("s1", "book", labels={"quality": 2}), call("s2", "search", labels={"quality": 3})]
    one, other = (read_document(document(task("t1", *steps))) for steps in (first, second))
    found = {unit.task: unit.pattern for unit in rating_units([approve(one), approve(other)]) if ":" in unit.label}
    assert found == {"/tasks/t1/steps/s1": (1, 3), "/tasks/t1/steps/s2": (2, 2)}


def test_texts_are_not_rated_and_each_level_has_its_statistics() -> None:
    assert list(FIELDS) == ["field:kind", "field:quality", "field:topics"]
    counts = {
        "field:kind": PatternCounts({("a", "a"): 2, ("a", "b"): 1, ("b", "b"): 2, ("gone", "gone"): 9}),
        "field:quality": PatternCounts({(1, 1): 2, (1, 3): 1, (3, 3): 2, (7, 7): 9}),
        "field:topics": PatternCounts({("a", "a"): 2, ("a", "a|b"): 1, ("b", "b"): 2}),
    }
    figures = {label: summarise(label, counts[label], pair=False, field=FIELDS[label]) for label in FIELDS}
    names = {label: [one.name for one in found] for label, found in figures.items()}
    assert names["field:quality"] == ["Percent agreement", "Krippendorff's alpha (ordinal)"]
    assert names["field:topics"] == ["Percent agreement", "Krippendorff's alpha (MASI)"]
    assert "Krippendorff's alpha (nominal)" in names["field:kind"]
    # Values that the field no longer has are left out.
    assert {found[0].n for found in figures.values()} == {5}


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    # J is 1, 1/2, 1/3 and 0; M is 1, 2/3, 1/3 and 0.
    [("a|b", "a|b", 0), ("a", "a|b", 1 - 1 / 2 * 2 / 3), ("a|b", "b|c", 1 - 1 / 3 * 1 / 3), ("a", "b", 1)],
)
def test_the_masi_distance_of_two_sets(one: str, other: str, distance: float) -> None:
    assert masi_distance(one, other) == pytest.approx(distance)
    assert masi_distance(other, one) == pytest.approx(distance)


def test_alpha_of_sets_by_hand() -> None:
    # Values a (2 + 2 + 1 = 3 ratings in pairs a-a and a-ab), ab (1) and b (2): a: 3, ab: 1, b: 2 of 6 ratings.
    counts = PatternCounts({("a", "a"): 1, ("a", "a|b"): 1, ("b", "b"): 1})
    near = 2 / 3
    observed = 2 * near / 6
    expected = 2 * (3 * 1 * near + 3 * 2 * 1 + 1 * 2 * near) / (6 * 5)
    alpha = krippendorff_alpha(counts, distance=masi_distance)
    assert alpha.value == pytest.approx(1 - observed / expected)
    # With sets of one member, MASI is the nominal metric.
    single = PatternCounts({("a", "a"): 3, ("a", "b"): 2, ("b", "b"): 4})
    assert krippendorff_alpha(single, distance=masi_distance).value == pytest.approx(krippendorff_alpha(single).value)
