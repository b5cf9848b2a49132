"""The taxonomy: twelve categories, their sentences, and every published constraint."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.constraints import (
    Category,
    Constraint,
    Dimension,
    Round,
    Variant,
    categories,
    find_category,
    read_constraint,
    read_parameters,
    register,
)
from annotator.core.constraints.model import Parameters
from annotator.core.constraints.rounds import Judgement, Past
from annotator.core.constraints.taxonomy import constraint_problems, forget
from annotator.core.schema.errors import SchemaProblem


def sentence(category: str, parameters: dict[str, Any]) -> str:
    found = find_category(category)
    assert found is not None
    return found.sentence(read_parameters(Constraint(category=category, parameters=parameters)))


def published(shared_data: Path) -> list[tuple[int, dict[str, Any]]]:
    lines = (shared_data / "cctu" / "constraints.jsonl").read_bytes().splitlines()
    cases = [orjson.loads(line) for line in lines]
    return [(case["case_id"], constraint) for case in cases for constraint in case["constraints"]]


class TestTaxonomy:
    def test_four_dimensions_of_three(self) -> None:
        counts = Counter(category.dimension for category in categories())
        assert counts == dict.fromkeys(Dimension, 3)

    def test_in_the_papers_order(self) -> None:
        assert [category.id for category in categories()] == [
            "interaction rounds", "tool call count", "specific tool call count",
            "sequential dependencies", "parallel dependencies", "parallel calls count",
            "available tools and parameters", "required parameters", "parameter types",
            "length", "format", "content",
        ]  # fmt: skip

    def test_is_open(self) -> None:
        class Patience(Category[Parameters]):
            id = "patience"
            dimension = Dimension.BEHAVIOR
            model = Parameters

            def sentence(self, parameters: Parameters) -> str:
                return "Wait."

            def judge(self, parameters: Parameters, past: Past, round_: Round) -> Judgement:
                return Judgement()

        register(Patience)
        try:
            assert sentence("patience", {}) == "Wait."
            with pytest.raises(ValueError, match="already"):
                register(Patience)
        finally:
            forget(Patience)
        assert find_category("patience") is None


class TestSentences:
    @pytest.mark.parametrize(
        ("category", "parameters", "expected"),
        [
            ("interaction rounds", {"min_round": 2, "max_round": 5},
             "Take between 2 and 5 interaction rounds, including the final response."),
            ("tool call count", {"min_callTimes": 0, "max_callTimes": 1}, "Make at most 1 tool call in total."),
            ("tool call count", {"min_callTimes": 3, "max_callTimes": "inf"}, "Make at least 3 tool calls in total."),
            ("tool call count", {"min_callTimes": 3, "max_callTimes": 3}, "Make exactly 3 tool calls in total."),
            ("specific tool call count", {"max_calls_per_tool": {"x": 2}}, "Make at most 2 calls to x."),
            ("specific tool call count", {"max_calls_per_tool": {"x": 1, "y": 1, "z": 2}},
             "Make at most 1 call to each of x and y; at most 2 calls to z."),
            ("sequential dependencies", {"order_constraints": [["a", "b", "c"]]},
             "Call in this order, each in a later round: a, then b, then c."),
            ("parallel dependencies", {"parallel_groups": [["a", "a"]]}, "Call in one round: a (2 times)."),
            ("parallel calls count",
             {"min_parallelCallTypes": 2, "max_parallelCallTypes": 4, "unit": "type"},
             "Call at least 2 different tools in at least one round and at most 4 different tools in any round."),
            ("length", {"max_responseLength": 50, "unit": "words"}, "Answer in at most 50 words."),
        ],
    )  # fmt: skip
    def test_say_the_rule(self, category: str, parameters: dict[str, Any], expected: str) -> None:
        assert sentence(category, parameters) == expected


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "pointer"),
        [
            ({"max_callTimes": -1}, "/parameters/max_callTimes"),
            ({"max_callTimes": "many"}, "/parameters/max_callTimes"),
            ({"min_callTimes": True}, "/parameters/min_callTimes"),
            ({"min_callTimes": "inf"}, "/parameters/min_callTimes"),
        ],
    )
    def test_faults_have_a_place(self, parameters: dict[str, Any], pointer: str) -> None:
        with pytest.raises(SchemaProblem) as caught:
            read_parameters(Constraint(category="tool call count", parameters=parameters))
        assert {problem.pointer for problem in caught.value.problems} == {pointer}

    def test_no_category_is_said(self) -> None:
        (problem,) = constraint_problems(Constraint(category="mood"))
        assert problem.pointer == "/category"
        assert "“mood” is not a category" in problem.message

    def test_a_variant_is_chosen_by_what_was_called_first(self) -> None:
        constraint = Constraint(
            category="tool call count",
            parameters={"max_callTimes": 2},
            variants=[Variant(first=["a"], parameters={"max_callTimes": 5})],
        )
        assert read_parameters(constraint).native() == {"max_callTimes": 2}
        assert read_parameters(constraint, ("b", "a")).native() == {"max_callTimes": 5}
        assert read_parameters(constraint, ("b",)).native() == {"max_callTimes": 2}

    def test_a_faulty_variant_is_found(self) -> None:
        constraint = Constraint(category="length", variants=[Variant(first=["a"], parameters={"unit": "pages"})])
        (problem,) = constraint_problems(constraint)
        assert problem.pointer == "/variants/0/parameters/unit"

    @given(
        low=st.integers(0, 10**6),
        high=st.one_of(st.integers(0, 10**6), st.just("inf")),
        strange=st.dictionaries(st.from_regex(r"\Ax_[a-z]{1,5}\Z"), st.one_of(st.booleans(), st.text(max_size=5))),
    )
    def test_come_back_as_given(self, low: int, high: int | str, strange: dict[str, Any]) -> None:
        given_ = {"min_round": low, "max_round": high, **strange}
        read = read_parameters(Constraint(category="interaction rounds", parameters=given_))
        assert read.native() == given_


class TestPublished:
    def test_a_record_is_read(self) -> None:
        record = {
            "index": 3,
            "text": "At most 2",
            "parameters": {"max_callTimes": 2, "parse_error": True},
            "source_label": ["Interact", "Call Times"],
            "dimension": "resource",
            "category": "tool call count",
            "anchor": None,
        }
        constraint = read_constraint(record)
        assert constraint_problems(constraint) == []
        known = ("dimension", "category", "text", "parameters")
        assert constraint.model_dump(include=set(known)) == {key: record[key] for key in known}

    @pytest.mark.parametrize(
        ("record", "pointer"),
        [
            (None, ""), ([], ""), ({"text": 3}, "/text"), ({"parameters": []}, "/parameters"),
            ({"validator_functions": ["f", 3]}, "/validator_functions/1"),
        ],
    )  # fmt: skip
    def test_what_is_no_constraint_is_refused(self, record: object, pointer: str) -> None:
        with pytest.raises(SchemaProblem) as caught:
            read_constraint(record)
        assert [problem.pointer for problem in caught.value.problems] == [pointer]

    def test_all_parameters_come_back(self, shared_data: Path) -> None:
        records = published(shared_data)
        assert len(records) == 914
        for _, record in records:
            constraint = read_constraint(record)
            if constraint.category and constraint.parameters is not None:
                assert read_parameters(constraint).native() == record["parameters"]

    def test_those_without_label_are_named(self, shared_data: Path) -> None:
        lost = {
            (case, record["index"])
            for case, record in published(shared_data)
            if any(problem.pointer == "/category" for problem in constraint_problems(read_constraint(record)))
        }
        assert lost == {(147, 1), (162, 2), (162, 3), (167, 2)}
