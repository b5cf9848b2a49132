"""The demo's data: complete, valid where it should be, with errors exactly where known_errors.json says so."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from annotator.core.checks import Finding, all_checks, run_checks
from annotator.core.checks.similarity import THRESHOLD, dialogue_text
from annotator.core.comparison.variant_values import compare_variants
from annotator.core.comparison.variants import shared_difference
from annotator.core.constraints.case import SCENARIOS
from annotator.core.constraints.solving import UnsolvedSet, text_of
from annotator.core.constraints.taxonomy import categories
from annotator.core.sandbox import Call, Expected, Limits, shared_sandbox
from annotator.core.schema import SchemaProblem, canonical
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators.trial import judged, subjects_of
from benchmark.core.formats import FORMATS, ReadDialogue
from tests.annotator.core.checks.check_cases import alike

DEMO = Path(__file__).resolve().parents[3] / "benchmark" / "demo" / "data"
ASK, ANSWER = "ask_user_for_required_parameters", "prepare_to_answer"
UNREADABLE = "home-energy-05"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


DIALOGUES = lines("dialogues.jsonl")
FRESH = [record for record in lines("fresh.jsonl") if record["id"] != UNREADABLE]
CORRECTIONS = lines("corrections.jsonl")
DISAGREEMENTS = lines("disagreements.jsonl")
KNOWN_ERRORS: dict[str, list[dict[str, Any]]] = json.loads((DEMO / "known_errors.json").read_text(encoding="utf-8"))
PEOPLE = json.loads((DEMO / "people.json").read_text(encoding="utf-8"))

GOOD = [record for record in DIALOGUES + FRESH if record["id"] not in KNOWN_ERRORS]
SOUND = (
    [pytest.param(record, id=record["id"]) for record in GOOD]
    + [pytest.param(line["record"], id=f"{line['id']}-corrected") for line in CORRECTIONS if line["record"]]
    + [pytest.param(line["record"], id=f"{line['id']}-disputed") for line in DISAGREEMENTS]
)


def field(record: dict[str, Any], name: str) -> Any:
    return record[name] if "tasks" in record else record[f"english_{name}"]


def nodes(record: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every node with the number of its task."""
    for number, task in enumerate(field(record, "answer_list"), 1):
        for node in task:
            yield number, node


def argument_problems(record: dict[str, Any]) -> set[str]:
    """Anchors of calls that break their tool's schema."""
    toolset = CompiledToolset.of_tools(field(record, "tools"))
    found = set()
    for number, node in nodes(record):
        action = node["action"]
        if action["name"] in (ASK, ANSWER):
            continue
        tool = toolset.tools[action["name"]]
        if not tool.validator.is_valid(action["arguments"]):
            found.add(f"/tasks/t{number}/steps/s{node['idx']}/arguments")
    return found


def dependency_problems(record: dict[str, Any]) -> set[str]:
    """Anchors of nodes that depend on a later node, on themselves or on nothing that exists."""
    return {
        f"/tasks/t{number}/steps/s{node['idx']}/depends_on"
        for number, node in nodes(record)
        if not set(node["dependency_list"]) <= set(range(node["idx"]))
    }


def read(record: dict[str, Any]) -> ReadDialogue:
    [dialogue] = FORMATS["wild"].read(record)
    return dialogue


def findings(record: dict[str, Any]) -> list[Finding]:
    dialogue = read(record)
    toolset = CompiledToolset.of(canonical({"tools": dialogue.tools}))
    return run_checks(dialogue.document, toolset, stage="submit")


def known_errors(record_id: str, *kinds: str) -> set[str]:
    return {item["place"] for item in KNOWN_ERRORS.get(record_id, []) if item["kind"] in kinds}


def test_forty_dialogues_with_ids_of_their_own() -> None:
    ids = [record["id"] for record in DIALOGUES + FRESH]
    assert len(DIALOGUES) == 40
    assert len(set(ids)) == len(ids)
    assert sum(record["id"] in KNOWN_ERRORS for record in DIALOGUES) == 16
    assert sum("tasks" in record for record in DIALOGUES) == 4


def test_fresh_candidates_hold_one_record_nobody_can_read() -> None:
    fresh = lines("fresh.jsonl")
    assert len(fresh) == 7
    assert sum(record["id"] in KNOWN_ERRORS for record in FRESH) == 3
    assert [record["id"] for record in fresh if not isinstance(field(record, "tasks"), list)] == [UNREADABLE]


def test_the_key_names_records_that_exist() -> None:
    assert set(KNOWN_ERRORS) <= {record["id"] for record in DIALOGUES + lines("fresh.jsonl")}
    for items in KNOWN_ERRORS.values():
        assert items
        assert all(set(item) == {"place", "kind", "check", "note"} and item["note"] for item in items)


def test_every_faulty_dialogue_has_a_correction() -> None:
    flawed = {record["id"] for record in DIALOGUES + FRESH if record["id"] in KNOWN_ERRORS}
    assert {line["id"] for line in CORRECTIONS} == flawed
    originals = {record["id"]: record for record in DIALOGUES + FRESH}
    for line in CORRECTIONS:
        assert line["reason"]
        assert (line["verdict"] == "reject") == (line["record"] is None)
        if line["record"]:
            assert line["record"]["id"] == line["id"]
            assert line["record"] != originals[line["id"]]


def test_disagreements_are_about_good_dialogues_and_change_them() -> None:
    originals = {record["id"]: record for record in GOOD}
    assert len(DISAGREEMENTS) >= 8
    for line in DISAGREEMENTS:
        assert line["reason"]
        assert line["record"]["id"] == line["id"]
        assert line["record"] != originals[line["id"]]
        assert field(line["record"], "tools") == field(originals[line["id"]], "tools")


def test_all_policies_topologies_and_subtypes_occur() -> None:
    policies = Counter(label for record in GOOD for label in field(record, "task_types"))
    subtypes = Counter(label for record in GOOD for label in field(record, "turn_subtypes"))
    for label in ("Single-Tool", "Parallel Multi-Tool", "Sequential Multi-Tool", "Mixed Multi-Tool", "Clarify", "Chat"):
        assert policies[label] >= 5, label
    for label in ("Partial Information", "Coreferential Reference", "Long-Range Dependency"):
        assert subtypes[label] >= 5, label
    assert {len(field(record, "tasks")) for record in GOOD} == {1, 2, 3, 4}
    calls = [
        sum(node["action"]["name"] not in (ASK, ANSWER) for node in task)
        for r in GOOD
        for task in field(r, "answer_list")
    ]
    assert {0, 1, 2, 3, 4, 5, 7} <= set(calls)


def test_toolsets_are_rich_and_readable() -> None:
    toolsets = {json.dumps(field(record, "tools"), sort_keys=True): record for record in DIALOGUES}
    assert len(toolsets) >= 10
    keywords = "".join(toolsets)
    for word in ('"enum"', '"array"', '"object"', '"float"', '"boolean"', '"integer"', '"minimum"'):
        assert word in keywords, word
    for record in toolsets.values():
        toolset = CompiledToolset.of_tools(field(record, "tools"))
        assert 4 <= len(toolset.names) <= 8
        assert not toolset.broken
        assert not [note for tool in toolset.tools.values() for note in tool.spec.notes]


def test_every_tool_of_every_toolset_but_a_few_is_used() -> None:
    offered = {tool["function"]["name"] for record in DIALOGUES for tool in field(record, "tools")}
    used = {node["action"]["name"] for record in DIALOGUES for _, node in nodes(record)} - {ASK, ANSWER}
    assert used <= offered
    assert len(offered - used) <= 8


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in DIALOGUES + FRESH])
def test_lists_fit_together(record: dict[str, Any]) -> None:
    tasks = field(record, "tasks")
    assert len(tasks) == len(field(record, "task_types")) == len(field(record, "answer_list"))
    assert len(field(record, "turn_subtypes")) == len(tasks) - 1
    for task in field(record, "answer_list"):
        assert [node["idx"] for node in task] == list(range(len(task)))


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in DIALOGUES + FRESH])
def test_arguments_break_their_schema_only_where_known(record: dict[str, Any]) -> None:
    kinds = ("wrong_enum", "type_error", "missing_argument", "wrong_argument_name", "arguments_not_json")
    places = {place.partition("/arguments")[0] + "/arguments" for place in known_errors(record["id"], *kinds)}
    assert argument_problems(record) == places


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in DIALOGUES + FRESH])
def test_dependencies_point_backwards_except_where_known(record: dict[str, Any]) -> None:
    assert dependency_problems(record) == known_errors(record["id"], "cycle", "dangling_dependency")


@pytest.mark.parametrize("record", SOUND)
def test_sound_records_are_complete(record: dict[str, Any]) -> None:
    assert not argument_problems(record)
    assert not dependency_problems(record)
    for task in field(record, "answer_list"):
        assert [node["action"]["name"] == ANSWER for node in task] == [False] * (len(task) - 1) + [True]
        assert all(node["observation"] for node in task)
        assert all(node["user_input"] for node in task if node["action"]["name"] == ASK)


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in DIALOGUES + FRESH])
def test_reading_and_writing_gives_the_record_again(record: dict[str, Any]) -> None:
    dialogue = read(record)
    assert not dialogue.warnings
    assert dialogue.external_id == record["id"]
    assert dialogue.language == ("zh" if "tasks" in record else "en")
    assert FORMATS["wild"].write([dialogue]) == record


def test_the_language_variants_agree_and_need_no_waiver() -> None:
    [record] = lines("variants.jsonl")
    one, other = FORMATS["wild"].read(record)
    assert {one.language, other.language} == {"en", "zh"}
    assert shared_difference(one.document, other.document) == ""
    assert compare_variants(one.document, other.document, one.tools, other.tools).found == []
    for each in (one, other):
        toolset = CompiledToolset.of(canonical({"tools": each.tools}))
        assert [finding.check for finding in run_checks(each.document, toolset, stage="submit")] == []


def test_the_unreadable_record_is_refused_where_the_key_says() -> None:
    [record] = [record for record in lines("fresh.jsonl") if record["id"] == UNREADABLE]
    with pytest.raises(SchemaProblem) as refused:
        FORMATS["wild"].read(record)
    assert {item["place"] for item in KNOWN_ERRORS[UNREADABLE]} <= {
        problem.pointer for problem in refused.value.problems
    }


@pytest.mark.parametrize("record", SOUND)
def test_sound_records_can_be_submitted(record: dict[str, Any]) -> None:
    assert [finding for finding in findings(record) if finding.severity == "error"] == []


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in GOOD])
def test_good_dialogues_need_no_waiver(record: dict[str, Any]) -> None:
    # A value inferred from the date line or a name is marked as such in Assay; a native record cannot say it.
    to_waive = [f for f in findings(record) if f.severity == "warning" and not f.check.startswith("provenance.")]
    assert to_waive == []


@pytest.mark.parametrize("record", [pytest.param(r, id=r["id"]) for r in DIALOGUES + FRESH if r["id"] in KNOWN_ERRORS])
def test_checks_see_what_the_key_says_they_see(record: dict[str, Any]) -> None:
    seen = {(finding.check, finding.anchor) for finding in findings(record)}
    for item in KNOWN_ERRORS[record["id"]]:
        if item["check"] and item["check"] != "dialogue.near_duplicate":
            assert (item["check"], item["place"]) in seen, item["note"]


def test_the_key_names_checks_that_exist_and_leaves_some_faults_to_people() -> None:
    expected = [item["check"] for items in KNOWN_ERRORS.values() for item in items]
    assert set(expected) - {None} <= {check.id for check in all_checks()}
    assert len(set(expected)) >= 15
    assert expected.count(None) >= 6


def test_the_near_duplicate_is_the_only_one() -> None:
    texts = [(record["id"], dialogue_text(read(record).document)) for record in DIALOGUES]
    pairs = [(one, two) for (one, text), (two, other) in combinations(texts, 2) if alike(text, other) >= THRESHOLD]
    assert pairs == [("library-counter-01", "library-counter-04")]
    assert known_errors("library-counter-04", "near_duplicate") == {""}


def test_only_the_reserved_host_is_named() -> None:
    for path in sorted(path for path in DEMO.rglob("*") if path.is_file()):
        hosts = set(re.findall(r"https?://([^/\s\"]+)", path.read_text(encoding="utf-8")))
        assert all(host.endswith("example.org") for host in hosts), path.name


def test_people_fill_every_role() -> None:
    people, projects = PEOPLE["people"], {project["slug"] for project in PEOPLE["projects"]}
    assert len({person["username"] for person in people}) == len(people) == 11
    roles: dict[str, list[tuple[str, ...]]] = {}
    for person in people:
        assert person["display_name"]
        assert 0 < len(person["note"]) <= 160
        for membership in person["memberships"]:
            assert membership["project"] in projects
            roles.setdefault(membership["project"], []).append(tuple(sorted(membership["roles"])))
    main, other, _ = PEOPLE["projects"]
    assert Counter(roles[main["slug"]]) == {
        ("administrator",): 1,
        ("administrator", "senior_reviewer"): 1,
        ("senior_reviewer",): 2,
        ("annotator",): 6,
    }
    outsiders = [p for p in people if {m["project"] for m in p["memberships"]} == {other["slug"]}]
    assert len(outsiders) == 1


def test_the_guideline_covers_what_annotators_ask() -> None:
    text = (DEMO / "guideline.md").read_text(encoding="utf-8")
    for heading in (
        "The labels",
        "Dependencies",
        "Clarifications",
        "Fix, reject or escalate?",
        "Checklists",
        "By keyboard",
    ):
        assert f"## {heading}\n" in text
    for label in ("single_tool", "multi_tool", "clarify", "chat", "partial_information", "coreferential_reference",
                  "long_range_dependency"):  # fmt: skip
        assert f"`{label}`" in text


# --- constrained cases ------------------------------------------------------------------------------------------------

CASES = {record["id"]: FORMATS["cctu"].read(record)[0] for record in lines("cases.jsonl")}
#: What a check sees without running anything, in the cases with one fault each.
INVALID = {
    "quay-01": "constraint.contradiction",
    "pilot-02": "constraint.unknown_tool",
    "wind-02": "constraint.unstated",
}
SOUND_CASES = ("berth-01", "wind-01", "arrival-01", "fee-01", "tide-03")
#: Cases with a validator that a trial finds wrong, and what it says.
WRONG_CODE = {
    "log-02": "The validator is too strict",
    "berth-02": "The validator checks too much",
    "radio-01": "It accepts every response that breaks its constraint",
    "watch-01": "It returns no verdict on any response. The code exceeded the time limit",
}


def test_cases_cover_every_scenario_and_category_and_come_back_as_they_were() -> None:
    documents = [case.document for case in CASES.values()]
    assert {document["scenario"] for document in documents} == set(SCENARIOS)
    rules = [rule for document in documents for rule in document["constraints"]]
    assert {rule["category"] for rule in rules} >= {category.id for category in categories()}
    validators = [rule["validator"] for rule in rules if rule["validator"]]
    assert len({validator["form"] for validator in validators if validator["form"]}) >= 5
    assert sum(validator["code"] is not None for validator in validators) >= 5
    for case in CASES.values():
        [again] = FORMATS["cctu"].read(FORMATS["cctu"].write([case]))
        assert (again.text, again.tools) == (case.text, case.tools)


@pytest.mark.parametrize("name", [*SOUND_CASES, *INVALID, *WRONG_CODE])
def test_cases_have_exactly_their_fault(name: str) -> None:
    case = CASES[name]
    found = run_checks(case.document, CompiledToolset.of(canonical({"tools": case.tools})), stage="submit")
    problems = [finding.check for finding in found if finding.severity != "info"]
    assert problems == ([INVALID[name]] if name in INVALID else [])


def test_tools_really_return_what_the_trajectories_hold_and_yield_what_is_unsolved() -> None:
    sandbox = shared_sandbox()
    for name in (*SOUND_CASES, *INVALID, *WRONG_CODE):
        document = CASES[name].document
        calls = [call for one in document["reference_trajectory"] for call in one["calls"]]
        unsolved = UnsolvedSet(document["unsolved_set"])
        for tool in sorted({call["name"] for call in calls}):
            asked = [call for call in calls if call["name"] == tool]
            results = sandbox.run(
                document["tool_codes"][tool],
                tool,
                [Call(kwargs=call["arguments"]) for call in asked],
                expected=Expected.VALUE,
            )
            for call, result in zip(asked, results, strict=True):
                assert result.value == call["observation"], (name, call["id"])
                unsolved.tick(tool, text_of(result.value), round_=0, call=0)
        assert unsolved.solved, name


@pytest.mark.parametrize("name", [*SOUND_CASES, *WRONG_CODE])
def test_trials_say_what_is_wrong(name: str) -> None:
    said: list[str] = []
    for subject in subjects_of(CASES[name].document):
        hangs = name == "watch-01"
        rows, limits = subject.rows()[: 1 if hangs else None], Limits(wall=0.5) if hangs else Limits()
        calls = [Call((row.text,)) for row in rows]
        outcome = judged(rows, shared_sandbox().run(subject.source, subject.function, calls, limits=limits))
        said += [*outcome.errors, *outcome.warnings]
    if name in WRONG_CODE:
        assert WRONG_CODE[name] in "\n".join(said)
    else:
        assert said == []
