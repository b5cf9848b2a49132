"""Feasibility: what is found in faulty cases, the paper's appendix D first, and what is not found in right ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from annotator.core.constraints import Constraint, read_constraint
from annotator.core.constraints.anchoring import anchor_findings, find_spans, sentences, stating_spans
from annotator.core.constraints.case import Case
from annotator.core.constraints.demands import read_demands
from annotator.core.constraints.feasibility import feasibility_findings, needed_calls
from annotator.core.constraints.sentence_claims import read_claim
from annotator.core.sandbox.results import CallResult, Status
from annotator.core.validators.trial import Outcome, Subject, judged


def rule(category: str, text: str | None = None, **parameters: Any) -> Constraint:
    return Constraint(category=category, text=text, parameters=parameters or None)


def found(*constraints: Constraint, **known: Any) -> list[tuple[str, str]]:
    return [(each.check, each.anchor) for each in feasibility_findings(Case(constraints, **known))]


def messages(*constraints: Constraint, **known: Any) -> str:
    return "\n".join(each.message for each in feasibility_findings(Case(constraints, **known)))


JSON_ONLY = rule("format", "The answer must be one JSON object only.")
PERIOD = rule("content", "Put a comma after the first name and end with a period.")
ORDER = rule("sequential dependencies", order_constraints=[["a", "b"]])


class TestAppendixD2:
    """The three faults of data that the paper shows (D.2), in a harbour's words."""

    ONLY_JSON = rule("format", "Reply with a single JSON object only, its keys being “vessel” and “berth”.")
    HOLDS_JSON = rule("format", "Your reply has to contain a JSON object, its keys being “vessel” and “berth”.")
    FULL_STOP = rule("content", "Name the vessel first, the berth after it, and end with a period.")

    def test_json_alone_and_a_period_at_the_end(self) -> None:
        assert found(self.ONLY_JSON, self.FULL_STOP) == [("constraint.contradiction", "/constraints/1")]
        assert "JSON as a whole cannot end with “.”" in messages(self.ONLY_JSON, self.FULL_STOP)
        # As the annotators repaired it: JSON somewhere in the response is enough.
        assert found(self.HOLDS_JSON, self.FULL_STOP) == []

    def test_three_rounds_at_least_in_a_single_hop(self) -> None:
        said = "Use three rounds or more before you are done."
        faulty = rule("interaction rounds", said, min_round=3, max_round="inf")
        assert found(faulty, scenario="single_hop") == [("constraint.scenario", "/constraints/0")]
        assert "Change the minimum to a maximum" in messages(faulty, scenario="single_hop")
        repaired = rule("interaction rounds", "Be done after at most three rounds.", min_round=0, max_round=3)
        assert found(repaired, scenario="single_hop") == []
        assert found(faulty, scenario="multi_hop") == []

    def test_one_call_where_the_solution_needs_two(self) -> None:
        known: dict[str, Any] = {
            "scenario": "parallel_single_hop",
            "unsolved_set": {"read_berth_depth": ["6.1 m", "4.8 m"]},
            "tools": {"read_berth_depth"},
        }
        faulty = rule("tool call count", "Make no more than one tool call.", min_callTimes=0, max_callTimes=1)
        assert found(faulty, **known) == [("constraint.solution", "/constraints/0")]
        assert "needs 2 (2 of read_berth_depth)" in messages(faulty, **known)
        repaired = rule("tool call count", "Make no more than two tool calls.", min_callTimes=0, max_callTimes=2)
        assert found(repaired, **known) == []


class TestAppendixD3:
    """The two faults of code that the paper shows (D.3): by what a trial says."""

    MARKDOWN = "The whole log entry is written in Markdown, using elements such as headings, lists or bold text."
    JSON = "Reply with one valid JSON object."
    ENTRY = "# Tide at Hald\n\n- 06:00: **1.1 m**\n- 14:00: **2.6 m**\n"
    OBJECT = json.dumps({"vessel": "Solvind", "berth": "B4, on the east quay, deep enough at any tide tonight"})

    @staticmethod
    def tried(text: str, accepts: Any, reference: str) -> Outcome:
        """Return the result of a trial of code that judges like ``accepts``."""
        subject = Subject("c0", text, "format", None, "", "validate", None, None, reference, (), ())
        rows = subject.rows()
        return judged(rows, [CallResult(Status.OK, accepts(row.text)) for row in rows])

    def test_every_element_wanted_at_once(self) -> None:
        def wants_all(response: str) -> bool:
            return "# " in response and "- " in response and "**" in response

        def wants_one(response: str) -> bool:
            return "# " in response or "- " in response or "**" in response

        strict = self.tried(self.MARKDOWN, wants_all, self.ENTRY).warnings
        assert [warning.partition(":")[0] for warning in strict] == [
            "With only a heading", "With only a list", "With only emphasis",
        ]  # fmt: skip
        assert all("too strict" in warning for warning in strict)
        assert self.tried(self.MARKDOWN, wants_one, self.ENTRY).warnings == ()

    def test_words_counted_by_a_format(self) -> None:
        def is_object(response: str) -> bool:
            try:
                return isinstance(json.loads(response), dict)
            except ValueError:
                return False

        def counts_too(response: str) -> bool:
            return is_object(response) and 10 <= len(response.split()) <= 30

        redundant = "\n".join(self.tried(self.JSON, counts_too, self.OBJECT).warnings)
        for row in ("With longer texts", "With shorter texts"):
            assert f"{row}: rejected, although this does not affect the constraint" in redundant
        plain = self.tried(self.JSON, is_object, self.OBJECT)
        assert (plain.errors, plain.warnings) == ((), ())


class TestContradictions:
    @pytest.mark.parametrize(
        "constraints",
        [
            [rule("length", min_responseLength=9, max_responseLength=3)],
            [rule("length", min_responseLength=9), rule("length", max_responseLength=3)],
            [rule("length", min_responseLength=50, unit="words"), rule("length", max_responseLength=90)],
            [rule("tool call count", max_callTimes=2), rule("interaction rounds", min_round=4)],
            [rule("tool call count", min_callTimes=1), rule("interaction rounds", max_round=1)],
            [rule("tool call count", max_callTimes=1), rule("parallel calls count", min_parallelCallTypes=2)],
            [rule("tool call count", min_callTimes=5), rule("interaction rounds", max_round=3),
             rule("parallel calls count", max_parallelCallTypes=2, unit="num")],
            [rule("sequential dependencies", order_constraints=[["a", "b"], ["b", "c"], ["c", "a"]])],
            [ORDER, rule("sequential dependencies", order_constraints=[["b", "a"]])],
            [ORDER, rule("parallel dependencies", parallel_groups=[["a", "b"]])],
            [rule("parallel dependencies", parallel_groups=[["a", "a"]]),
             rule("specific tool call count", max_calls_per_tool={"a": 1})],
            [rule("parallel dependencies", parallel_groups=[["a", "b", "c"]]),
             rule("tool call count", max_callTimes=2)],
            [rule("parallel dependencies", parallel_groups=[["a", "b"]]),
             rule("parallel calls count", max_parallelCallTypes=1)],
            [JSON_ONLY, rule("content", "Must begin with \"ANSWER:\".")],
            [JSON_ONLY, rule("format", "The response must be presented as a table.")],
            [PERIOD, rule("content", "The answer must end with the identifier \"END\".")],
            [rule("content", "Start with \"A:\"."), rule("content", "It must begin with \"B:\".")],
        ],
    )  # fmt: skip
    def test_are_found_once(self, constraints: list[Constraint]) -> None:
        for order in (constraints, constraints[::-1]):
            assert found(*order) == [("constraint.contradiction", f"/constraints/{len(constraints) - 1}")]
            # Pages put the place before the message.
            assert f"constraint {len(constraints)} " not in messages(*order).lower()

    @pytest.mark.parametrize(
        "constraints",
        [
            [rule("length", min_responseLength=3, max_responseLength=3)],
            [rule("length", min_responseLength=40, unit="words"), rule("length", max_responseLength=90)],
            [rule("tool call count", max_callTimes=3), rule("interaction rounds", min_round=4)],
            [ORDER, rule("sequential dependencies", order_constraints=[["b", "c"], ["a", "c"]])],
            [ORDER, rule("parallel dependencies", parallel_groups=[["b", "c"]])],
            [ORDER, rule("parallel dependencies", parallel_groups=[["a", "b"], ["a", "c"], ["b", "c"]])],
            [PERIOD, rule("content", "Conclude with the identifier \"End of Answer.\"")],
            [JSON_ONLY, rule("content", "The response must end with \"}\".")],
        ],
    )  # fmt: skip
    def test_are_not_made_up(self, constraints: list[Constraint]) -> None:
        assert found(*constraints) == []


class TestScenario:
    @pytest.mark.parametrize(
        ("constraint", "faulty"),
        [
            (ORDER, {"single_hop", "parallel_single_hop"}),
            (rule("parallel dependencies", parallel_groups=[["a", "b"]]), {"single_hop", "multi_hop"}),
            (rule("parallel calls count", min_parallelCallTypes=2), {"single_hop", "multi_hop"}),
            (rule("interaction rounds", max_round=1),
             {"single_hop", "parallel_single_hop", "multi_hop", "parallel_multi_hop"}),
            (rule("interaction rounds", max_round=2), {"multi_hop", "parallel_multi_hop"}),
        ],
    )  # fmt: skip
    def test_the_papers_rules(self, constraint: Constraint, faulty: set[str]) -> None:
        scenarios = ("single_hop", "parallel_single_hop", "multi_hop", "parallel_multi_hop")
        assert {each for each in scenarios if found(constraint, scenario=each)} == faulty


class TestSolution:
    def test_what_must_come_before_counts(self) -> None:
        case = Case([ORDER], unsolved_set={"b": ["x"]})
        assert needed_calls(case) == {"a": 1, "b": 1}
        assert found(ORDER, rule("tool call count", max_callTimes=1), unsolved_set={"b": ["x"]}) == [
            ("constraint.solution", "/constraints/1")
        ]

    def test_a_group_counts_whole(self) -> None:
        group = rule("parallel dependencies", parallel_groups=[["a", "a", "c"]])
        assert needed_calls(Case([group], unsolved_set={"a": ["x"]})) == {"a": 2, "c": 1}

    def test_one_tool_too_seldom(self) -> None:
        limit = rule("specific tool call count", max_calls_per_tool={"a": 1, "b": 1})
        assert found(limit, unsolved_set={"a": ["x", "y"], "b": ["z"]}) == [("constraint.solution", "/constraints/0")]

    @pytest.mark.parametrize(("most", "expected"), [(3, 0), (2, 1)])
    def test_rounds_for_an_order(self, most: int, expected: int) -> None:
        rounds = rule("interaction rounds", max_round=most)
        assert len(found(ORDER, rounds, unsolved_set={"b": ["x"]})) == expected

    def test_rounds_for_calls_at_once(self) -> None:
        constraints = [
            rule("parallel calls count", max_parallelCallTypes=2, unit="num"),
            rule("interaction rounds", max_round=2),
        ]
        assert found(*constraints, unsolved_set={"a": ["x", "y", "z"]}) == [("constraint.solution", "/constraints/1")]

    def test_no_calls_in_any_round(self) -> None:
        none = rule("parallel calls count", max_parallelCallTypes=0)
        assert found(none, unsolved_set={"a": ["x"]}) == [("constraint.solution", "/constraints/0")]
        assert found(none) == []

    @pytest.mark.parametrize(("least", "expected"), [(4, 0), (5, 1)])
    def test_what_the_single_tools_may_give_together(self, least: int, expected: int) -> None:
        limits = [rule("specific tool call count", max_calls_per_tool=most) for most in ({"a": 3, "b": 2}, {"b": 1})]
        calls = rule("tool call count", min_callTimes=least)
        assert len(found(*limits, calls, tools=["a", "b"])) == expected
        # A third tool has no limit.
        assert found(*limits, calls, tools=["a", "b", "c"]) == []

    @pytest.mark.parametrize(("unit", "expected"), [("type", 1), ("num", 0)])
    def test_more_tools_at_once_than_there_are(self, unit: str, expected: int) -> None:
        bounds = rule("parallel calls count", min_parallelCallTypes=3, unit=unit)
        assert len(found(bounds, tools=["a", "b"])) == expected


class TestUnknownTools:
    def test_are_named_with_what_was_meant(self) -> None:
        limit = rule("specific tool call count", max_calls_per_tool={"city_findr": 1, "weather": 1})
        told = messages(limit, tools=["city_finder", "weather"])
        assert "The case has no tool city_findr. Did you mean city_finder?" in told
        assert found(limit, tools=["city_findr", "weather"]) == []


class TestWording:
    @pytest.mark.parametrize(
        ("text", "lows", "highs"),
        [
            ("At most 5 (an upper bound)", set(), {5}),
            ("at most once", set(), {1}),
            ("no more than two times", set(), {2}),
            ("must not exceed 1,500 characters", set(), {1500}),
            ("between 15 and 20 words", {15}, {20}),
            ("within the range of 6 to 10", {6}, {10}),
            ("at least three, in at least one round", {3}, set()),
            ("exactly twice", {2}, {2}),
            ("no fewer than 2", {2}, set()),
            ("fewer than 4", set(), {3}),
            ("more than 4", {5}, set()),
            ("a maximum of 7 calls", set(), {7}),
            ("in 2023 and 2024", set(), set()),
        ],
    )
    def test_bounds_are_read(self, text: str, lows: set[int], highs: set[int]) -> None:
        claim = read_claim(text)
        assert (claim.lows, claim.highs) == (lows, highs)

    @pytest.mark.parametrize(
        ("constraint", "problems"),
        [
            (rule("tool call count", "At most 5 calls", max_callTimes=4), 1),
            (rule("tool call count", "At most 5 calls", max_callTimes=5), 0),
            (rule("tool call count", "At most 5 calls", max_callTimes="inf"), 1),
            (rule("length", "At most 50 words", max_responseLength=50, unit="characters"), 1),
            (rule("length", "Between 10 and 50 words", min_responseLength=10, max_responseLength=50, unit="words"), 0),
            (rule("length", "Be brief.", max_responseLength=50), 0),
            (rule("specific tool call count", "my_tool: at most 2", max_calls_per_tool={"other_tool": 2}), 1),
            (rule("sequential dependencies", "my_a before my_b", order_constraints=[["my_a", "my_b"]]), 0),
            (rule("parallel calls count", "2 to 4 at once: between 2 and 4", min_parallelCallTypes=2,
                  max_parallelCallTypes=4), 0),
        ],
    )  # fmt: skip
    def test_disagreements(self, constraint: Constraint, problems: int) -> None:
        findings = feasibility_findings(Case([constraint]))
        assert [(each.check, each.severity) for each in findings] == [("constraint.wording", "warning")] * problems

    @pytest.mark.parametrize(
        ("text", "form", "starts", "ends"),
        [
            ("Ending punctuation (Must end the response with a period to ensure closure.)", "", (), (".",)),
            ("Begin with \"Answer:\" and conclude with the identifier \"End.\"", "", ("Answer:",), ("End.",)),
            ("JSON (the entire response must be a JSON object)", "json", (), ()),
            ("It must contain a JSON object.", "", (), ()),
            ("Present the answer in a table.", "", (), ()),
            ("The text in the JSON value must end with a period.", "", (), ()),
            ("The final JSON answer follows \"###\".", "", (), ()),
            ("End with \"Final Answer: [name]\".", "", (), ()),
            ("End with \"[END]\".", "", (), ("[END]",)),
            ("End with '[END]' followed by a mark.", "", (), ()),
            ("The answer must be presented in a tabular format.", "table", (), ()),
        ],
    )  # fmt: skip
    def test_demands_are_read(self, text: str, form: str, starts: Sequence[str], ends: Sequence[str]) -> None:
        demands = read_demands(text)
        assert (demands.form, demands.starts, demands.ends) == (form, starts, ends)


class TestAnchors:
    PROMPT = "You help with maps.\n- Make **at most** 5 tool calls.\n- End with a period. Be kind."

    @pytest.mark.parametrize(
        ("known", "sentence"),
        [
            ({"text": "make at  most 5 tool calls."}, ""),
            ({"text": "No more calls than five", "anchor": "at most 5 tool calls"}, ""),
            ({"text": "No more than five calls in total"}, ""),
            ({"text": "At most 5"}, ""),
            ({"text": None, "parameters": {"max_callTimes": 5}}, ""),
            ({"text": "Make at most 6 tool calls."}, "another number: “Make **at most** 5 tool calls.”"),
            (
                {"text": "Five calls", "anchor": "at most 5 requests"},
                "The marked span is no longer in the system prompt.",
            ),
            ({"text": "At most 6 calls", "anchor": "at most 5 tool calls"}, "Make them agree"),
        ],
    )
    def test_a_clause_states_the_constraint(self, known: Mapping[str, Any], sentence: str) -> None:
        constraint = Constraint(category="tool call count", **known)
        found = anchor_findings(Case([constraint], system_prompt=self.PROMPT))
        assert [(each.check, each.severity) for each in found] == (
            [("constraint.anchor", "warning")] if sentence else []
        )
        assert sentence in "".join(
            each.message for each in anchor_findings(Case([constraint], system_prompt=self.PROMPT))
        )

    @pytest.mark.parametrize(
        ("category", "known"),
        [
            ("content", {"text": "Speak Chinese throughout"}),
            ("content", {"text": None}),
            ("content", {"text": 'The answer must begin with "Dear guest".'}),
            ("format", {"text": "The entire response must be a JSON object."}),
            ("length", {"text": "At most 5", "parameters": {"max_responseLength": 5}}),
            ("interaction rounds", {"text": "At most 5 rounds", "parameters": {"max_round": 5}}),
            ("specific tool call count", {"text": "At most 5", "parameters": {"max_calls_per_tool": {"find_maps": 5}}}),
        ],
    )
    def test_nothing_states_the_constraint(self, category: str, known: Mapping[str, Any]) -> None:
        found = list(anchor_findings(Case([Constraint(category=category, **known)], system_prompt=self.PROMPT)))
        assert [(each.check, each.severity) for each in found] == [("constraint.unstated", "error")]
        assert "The system prompt does not state this constraint" in found[0].message

    def test_clauses_of_one_sentence_state_several_constraints(self) -> None:
        prompt = (
            "Answer in between 10 and 30 words, make no more than two calls in total, and finish within 4 turns; the "
            "tools `find_map`, `read_map`, and `draw_map` may be called once each."
        )
        per_tool = {"find_map": 1, "read_map": 1, "draw_map": 1}
        rules = (
            rule("length", min_responseLength=10, max_responseLength=30, unit="words"),
            rule("tool call count", max_callTimes=2),
            rule("interaction rounds", max_round=4),
            rule("specific tool call count", max_calls_per_tool=per_tool),
        )
        assert list(anchor_findings(Case(rules, system_prompt=prompt))) == []
        for wrong in (
            rule("interaction rounds", max_round=6),
            rule("length", min_responseLength=10, max_responseLength=50, unit="words"),
        ):
            told = "".join(one.message for one in anchor_findings(Case([wrong], system_prompt=prompt)))
            assert "another number" in told

    def test_the_limit_that_every_evaluation_has_need_not_be_stated(self) -> None:
        usual = Constraint(
            category="interaction rounds", text="At most 20", parameters={"min_round": 0, "max_round": 20}
        )
        assert list(anchor_findings(Case([usual], system_prompt=self.PROMPT))) == []

    def test_a_doubled_sentence(self) -> None:
        told = messages(rule("content", "End with a period."), system_prompt=self.PROMPT + " End with a period.")
        assert "2 times. State it once" in told

    def test_pages_mark_the_clause_that_states_a_constraint(self) -> None:
        def marked(**known: Any) -> list[str]:
            constraint = Constraint(category="tool call count", **known)
            return [self.PROMPT[span.start : span.end] for span in stating_spans(self.PROMPT, constraint)]

        assert marked(text="No more than five calls in total") == ["Make **at most** 5 tool calls."]
        assert marked(text="At most 5", anchor="at most 5") == ["at most** 5"]
        assert marked(text="At most five calls", anchor="five requests") == marked(text="At most six calls") == []

    def test_spans_are_places_in_the_prompt(self) -> None:
        (span,) = find_spans(self.PROMPT, "Make at most 5")
        assert self.PROMPT[span.start : span.end] == "Make **at most** 5"
        assert [self.PROMPT[each.start : each.end] for each in sentences(self.PROMPT)] == [
            "You help with maps.", "Make **at most** 5 tool calls.", "End with a period.", "Be kind.",
        ]  # fmt: skip


class TestUnreadable:
    def test_faults_and_lost_labels_are_told(self) -> None:
        told = messages(Constraint(text="?"), rule("length", unit="pages"))
        assert "The constraint has no category" in told
        assert "/parameters/unit: " in told


class TestPublished:
    def test_what_the_published_cases_hold(self, shared_data: Path) -> None:
        """Read by hand: each of these disagrees as the finding says."""
        told: dict[str, set[tuple[int, int]]] = {}
        for line in (shared_data / "cctu" / "constraints.jsonl").read_bytes().splitlines():
            record = orjson.loads(line)
            case = Case([read_constraint(each) for each in record["constraints"]])
            for finding in feasibility_findings(case):
                place = (record["case_id"], int(finding.anchor.rpartition("/")[2]))
                told.setdefault(finding.check, set()).add(place)
        assert told == {
            "constraint.unreadable": {(147, 1), (162, 2), (162, 3), (167, 2)},
            "constraint.wording": {
                (10, 2), (47, 0), (85, 0), (105, 1), (121, 1), (139, 3), (192, 2), (192, 4), (198, 6),
            },
            "constraint.contradiction": {(165, 3), (186, 2)},
        }  # fmt: skip

    def test_the_published_prompts_state_the_constraints(self, shared_data: Path) -> None:
        """Read by hand: none of 914 gets a false finding. The numbers of three are not those of the parameters."""
        told: dict[str, set[tuple[int, int]]] = {}
        for line in (shared_data / "cctu" / "constraints.jsonl").read_bytes().splitlines():
            record = orjson.loads(line)
            case = Case([read_constraint(each) for each in record["constraints"]], system_prompt=record["instructions"])
            for finding in anchor_findings(case):
                place = (record["case_id"], int(finding.anchor.rpartition("/")[2]))
                told.setdefault(finding.check, set()).add(place)
        unstated = {
            (12, 2), (18, 1), (47, 1), (47, 2), (47, 3), (52, 3), (84, 3), (87, 2), (115, 0), (119, 3), (146, 0),
            (159, 0), (189, 5), (191, 1),
        }  # fmt: skip
        wordless = {(147, 1), (162, 2), (162, 3), (167, 2), (185, 1), (185, 2)}
        assert told == {"constraint.unstated": unstated | wordless, "constraint.anchor": {(121, 1), (136, 6), (161, 5)}}
