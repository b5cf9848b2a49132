"""What the constraints of cases consist of."""

from pathlib import Path

import orjson

from annotator.core.constraints.statistics import ConstraintStatistics


def test_the_published_constraints_have_their_published_numbers(shared_data: Path) -> None:
    found = ConstraintStatistics()
    for line in (shared_data / "cctu" / "constraints.jsonl").read_bytes().splitlines():
        found.add(orjson.loads(line)["constraints"])
    assert (found.cases, found.constraints, found.unlabelled) == (200, 914, 4)
    assert found.cases_by_category == {
        "interaction rounds": 200, "tool call count": 87, "specific tool call count": 106,
        "sequential dependencies": 51, "parallel dependencies": 37, "parallel calls count": 41,
        "length": 91, "format": 101, "content": 147,
    }  # fmt: skip
    assert found.cases_by_categories == {1: 1, 2: 12, 3: 40, 4: 65, 5: 50, 6: 22, 7: 7, 8: 2, 9: 1}
    assert found.cases_by_constraints == {1: 1, 2: 12, 3: 31, 4: 59, 5: 46, 6: 36, 7: 7, 8: 7, 9: 1}
    # One of the four without a category has no dimension either.
    assert found.by_dimension == {"resource": 393, "behavior": 129, "response": 391, "none": 1}


def test_a_case_by_hand() -> None:
    found = ConstraintStatistics()
    found.add(
        [
            {"dimension": "response", "category": "content", "text": "Say yes."},
            {"dimension": "response", "category": "content", "text": "Say why."},
            {"dimension": "resource", "category": "interaction rounds", "text": "At most two rounds."},
            {"dimension": "style", "category": "tone", "text": None},
        ]
    )
    found.add([])
    summary = found.summary()
    assert (summary["cases"], summary["constraints"], summary["unlabelled"]) == (2, 4, 1)
    assert [row for row in summary["cases_by_category"] if row[1]] == [["interaction rounds", 1], ["content", 1]]
    assert summary["by_dimension"] == [["resource", 1], ["response", 2], ["none", 1]]
    assert summary["cases_by_categories"] == [[0, 1], [2, 1]]
    assert summary["cases_by_constraints"] == [[0, 1], [4, 1]]
    assert summary["lengths"] == {"count": 3, "median": 8, "p90": 19, "largest": 19}
