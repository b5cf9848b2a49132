"""Checks of constrained cases: one fault at a time put into a case that has none."""

from typing import Any

import pytest

from annotator.core.checks import CheckSettings, Finding, run_checks
from annotator.core.comparison import describe
from annotator.core.constraints.code import function_for, outline
from annotator.core.schema import read_document
from tests.annotator.case_documents import CODE, PROMPT, TOOLSET, call, case, with_constraint


def found(document: dict[str, Any], stage: Any = "submit", **settings: Any) -> list[Finding]:
    return run_checks(document, TOOLSET, stage=stage, settings=CheckSettings(**settings))


def told(document: dict[str, Any], stage: Any = "submit") -> list[tuple[str, str, str]]:
    return [(one.check, one.severity, one.anchor) for one in found(document, stage)]


def rounds(*calls: dict[str, Any], final: str | None = "The Gull leaves at 21:40.") -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"id": f"r{n}", "calls": [one]} for n, one in enumerate(calls)]
    return [*made, {"id": "last", "final": final}] if final else made


FERRY = call("s1", "find_ferry", "Gull", harbour="Norhavn")
TIMES = call("s2", "read_timetable", "21:40", ferry="Gull")


def test_a_case_without_a_fault_has_no_finding() -> None:
    assert told(case()) == []


@pytest.mark.parametrize(
    ("document", "check", "severity", "anchor"),
    [
        (with_constraint("c0", category=None), "constraint.unreadable", "error", "/constraints/c0"),
        (
            with_constraint("c0", parameters={"max_callTimes": "many"}),
            "constraint.unreadable",
            "error",
            "/constraints/c0",
        ),
        (
            with_constraint("c2", parameters={"min_round": 7, "max_round": 6}),
            "constraint.contradiction",
            "error",
            "/constraints/c2",
        ),
        (case(scenario="single_hop"), "constraint.scenario", "error", "/constraints/c1"),
        (
            with_constraint("c0", parameters={"max_callTimes": 1}),
            "constraint.solution",
            "error",
            "/constraints/c0",
        ),
        (
            with_constraint("c1", parameters={"order_constraints": [["find_fery", "read_timetable"]]}),
            "constraint.unknown_tool",
            "error",
            "/constraints/c1",
        ),
        (with_constraint("c0", parameters={"max_callTimes": 5}), "constraint.wording", "warning", "/constraints/c0"),
        (case(system_prompt=PROMPT.replace("six", "seven")), "constraint.anchor", "warning", "/constraints/c2"),
        (case(unsolved_set={"find_fery": ["Gull"]}), "constraint.unsolved_tool", "error", "/unsolved_set"),
        (case(reference_trajectory=rounds(TIMES, FERRY)), "constraint.reference", "error", "/constraints/c1"),
        (case(answer=None), "constraint.incomplete", "error", "/answer"),
        (with_constraint("c0", parameters=None), "constraint.incomplete", "error", "/constraints/c0/parameters"),
        (case(constraints=[]), "constraint.incomplete", "error", "/constraints"),
        (with_constraint("c4", validator=None), "validator.missing", "warning", "/constraints/c4/validator"),
        (
            with_constraint("c4", validator={"code": "def validate(", "function": "validate"}),
            "validator.syntax",
            "error",
            "/constraints/c4/validator/code",
        ),
        (
            with_constraint("c4", validator={"code": CODE, "function": "validate_format"}),
            "validator.function",
            "error",
            "/constraints/c4/validator/function",
        ),
        (
            with_constraint("c4", validator={"code": CODE}),
            "validator.function",
            "error",
            "/constraints/c4/validator/function",
        ),
        (
            with_constraint("c4", validator={"code": "def validate(a, b): ...", "function": "validate"}),
            "validator.function",
            "error",
            "/constraints/c4/validator/function",
        ),
        (case(tool_codes={"a/b": "def"}), "validator.tool_code", "warning", "/tool_codes/a~1b"),
        (case(user_query=" "), "dialogue.empty_message", "error", "/user_query"),
        (case(answer="[insert answer]"), "dialogue.placeholder_text", "warning", "/answer"),
        (
            case(reference_trajectory=rounds(FERRY, call("s2", "read_times", 1, ferry="Gull"))),
            "schema.unknown_tool",
            "error",
            "/reference_trajectory/r1/calls/s2/name",
        ),
        (
            case(reference_trajectory=rounds(call("s1", "find_ferry", 1), TIMES)),
            "schema.missing_argument",
            "error",
            "/reference_trajectory/r0/calls/s1/arguments/harbour",
        ),
    ],
)  # fmt: skip
def test_one_fault_has_one_finding(document: dict[str, Any], check: str, severity: str, anchor: str) -> None:
    assert (check, severity, anchor) in told(document)
    assert {one[0] for one in told(document)} <= {check, "constraint.reference", "constraint.wording"}
    # Pages put the place before the message.
    at_constraints = [one for one in found(document) if one.anchor.startswith("/constraints/")]
    assert not [one for one in at_constraints if describe(document, one.anchor) in one.message.lower()]


def test_trial_and_error_in_the_reference_is_only_mentioned() -> None:
    failed = call("s0", "find_ferry", {"error": "no such harbour"}, harbour="Nord")
    again = call("s3", "read_timetable", "", ferry="Gull")
    document = case(reference_trajectory=rounds(failed, FERRY, TIMES, again))
    assert {(check, severity) for check, severity, _ in told(document)} == {
        ("trajectory.tool_error", "info"),
        ("trajectory.repeated_call", "info"),
        ("trajectory.observation_empty", "info"),
    }


def test_a_breach_that_is_repaired_is_lawful_and_the_last_one_is_told() -> None:
    long = "word " * 40
    trajectory = [*rounds(FERRY, TIMES, final=long), {"id": "again", "final": "At 21:40."}]
    assert told(case(reference_trajectory=trajectory)) == []
    (finding,) = found(case(reference_trajectory=trajectory[:-1]))
    assert (finding.check, finding.anchor) == ("constraint.reference", "/constraints/c3")
    assert "40 words" in finding.message


def test_what_is_unfinished_waits_for_submission() -> None:
    bare = read_document({"kind": "constrained", "user_query": "Where?"})
    assert {severity for _, severity, _ in told(bare, "import")} == {"info"}
    assert {severity for _, severity, _ in told(bare)} == {"error"}


def test_a_project_may_choose_another_severity_or_none() -> None:
    document = with_constraint("c0", parameters={"max_callTimes": 5})
    assert found(document, severities={"constraint.wording": "off"}) == []
    assert found(document, severities={"constraint.wording": "error"})[0].severity == "error"


def test_findings_come_in_the_order_of_reading() -> None:
    document = case(answer=None, user_query=" ", reference_trajectory=rounds(TIMES, FERRY), scenario="single_hop")
    assert [one.anchor for one in found(document)] == [
        "/user_query", "/constraints/c1", "/constraints/c1", "/answer",
    ]  # fmt: skip


def test_code_is_read_and_never_run() -> None:
    code = "raise SystemExit\nimport os\n\ndef validate_format(response): ...\n\ndef helper(a, b): ...\n"
    assert outline(code).functions == {"validate_format": True, "helper": False}
    assert outline(code).validators == ["validate_format"]


def test_functions_are_found_however_a_module_defines_them() -> None:
    code = "\ufefftry:\n    def validate(r): ...\nexcept OSError:\n    validate_it = lambda r: (True, '')\n"
    assert outline(code).functions == {"validate": True, "validate_it": True}


@pytest.mark.parametrize("dots", ["a." * 90_000, "a.\\\n" * 50_000, "a.\f" * 60_000])
def test_an_import_that_would_be_read_for_a_minute_is_not(dots: str) -> None:
    assert "dots" in outline(f"x = 1; import {dots}b").problem


@pytest.mark.parametrize("code", ["f'" + "{a}" * 80_000 + "'", 'x = Rf"' + "{a:{b}}" * 30_000 + '"'])
def test_values_in_a_text_that_would_take_time_in_the_square_of_their_number_are_not_read(code: str) -> None:
    assert outline(code).problem == "it has f-strings and more than 2,000 opening braces"
    assert not outline(code.replace("f'", "'").replace("Rf", "")).problem


@pytest.mark.parametrize("code", ["(" * 100_000, "-" * 100_000 + "1", "def f(:", "\\", "a = '\\d'\ndef\n"])
def test_code_that_cannot_be_read_is_said(code: str) -> None:
    assert outline(code).problem


def test_the_function_of_a_constraint_is_found_by_its_label_else_where_there_is_one() -> None:
    both = outline("def validate_format(r): ...\n\ndef validate_punctuation(r): ...\n")
    assert function_for(("Punctuation", "content"), both) == "validate_punctuation"
    assert function_for((None, "format"), both) == "validate_format"
    assert function_for((None, "content"), both) is None
    assert function_for((None, None), outline("def validate_content(r): ...\n")) == "validate_content"
