"""All checks together: order, severities, settings, the registry; and real data."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings, Finding, all_checks, run_checks
from annotator.core.checks.running import MAX_LISTED
from annotator.core.comparison.anchors import AnchorMissing, resolve
from annotator.core.findings import STAGES
from annotator.core.schema import canonical, load_text, value_hash
from annotator.core.schema.canonical import MAX_ANCHOR
from tests.annotator.core.checks.check_cases import TOOLS, TOOLSET, answer, call, document, findings, good, task


@pytest.mark.parametrize("stage", STAGES)
def test_a_dialogue_without_a_fault_has_no_finding(stage: Any) -> None:
    assert findings(good(), stage) == []


def test_checking_changes_nothing() -> None:
    broken = copy.deepcopy(good())
    broken["tasks"][1]["steps"][0]["arguments"] = {"Hotel": 1}
    before = canonical(broken)
    findings(broken)
    assert canonical(broken) == before


def test_a_finding_at_a_place_too_long_to_be_stored_is_one_of_what_holds_it() -> None:
    bad = good()
    bad["tasks"][0]["steps"][0]["arguments"] |= {"k" * 700: "x"}
    found = [one for one in findings(bad) if one.check == "schema.unknown_argument"]
    assert [one.anchor for one in found] == [
        f"/tasks/{bad['tasks'][0]['id']}/steps/{bad['tasks'][0]['steps'][0]['id']}/arguments"
    ]
    assert all(len(one.anchor) <= MAX_ANCHOR for one in findings(bad))


def test_of_what_is_wrong_everywhere_the_first_are_told_and_that_there_are_more() -> None:
    """A page of 13,000 findings had 37 MB."""
    values = {f"k{n}": f"nowhere {5_000 + n}" for n in range(MAX_LISTED + 200)}
    bad = document(task("t1", None, None, call("s0", "nothing", None, **values)))
    found = [one for one in findings(bad) if one.check == "provenance.no_source"]
    assert len(found) == MAX_LISTED + 1
    assert found[0].anchor == ""
    assert f"more than {MAX_LISTED} places" in found[0].message
    assert found[0].severity == found[1].severity
    few = document(task("t1", None, None, call("s0", "nothing", None, **dict(list(values.items())[:MAX_LISTED]))))
    assert len([one for one in findings(few) if one.check == "provenance.no_source"]) == MAX_LISTED


def test_findings_come_in_document_order_then_by_check() -> None:
    guests: list[Any] = [{"name": "x"} for _ in range(11)]
    guests[2] = guests[10] = 3
    bad = document(
        task(
            "t2",
            None,
            None,
            call("s9", "book_room", None, None, hotelId="<id>", nights="1", guests=guests, what=1),
            call("s1", "nothing", "s9"),
            message="",
        ),
        task("t1", "chat", "explicit", answer(kind="chat")),
    )
    assert [(one.anchor, one.check) for one in findings(bad)] == [
        ("/tasks/t2/user_message", "dialogue.empty_message"),
        ("/tasks/t2/policy", "label.policy_missing"),
        ("/tasks/t2/information", "label.information_missing"),
        ("/tasks/t2/steps", "trajectory.no_answer"),
        ("/tasks/t2/steps/s9/arguments/guests/2", "schema.wrong_type"),
        ("/tasks/t2/steps/s9/arguments/guests/10", "schema.wrong_type"),
        ("/tasks/t2/steps/s9/arguments/hotelId", "trajectory.placeholder"),
        ("/tasks/t2/steps/s9/arguments/nights", "schema.wrong_type"),
        ("/tasks/t2/steps/s9/arguments/what", "schema.unknown_argument"),
        ("/tasks/t2/steps/s9/observation", "trajectory.observation_missing"),
        ("/tasks/t2/steps/s9/depends_on", "graph.not_annotated"),
        ("/tasks/t2/steps/s1/name", "schema.unknown_tool"),
        ("/tasks/t1/information", "label.later_hides"),
    ]


def test_a_finding_holds_the_hash_of_the_value_it_is_about() -> None:
    bad = document(task("t1", "chat", "explicit", call("s0", "translate", text=7), answer("s0", None)))
    by_check = {one.check: one for one in findings(bad)}
    assert by_check["schema.wrong_type"].value_hash == value_hash(7)
    assert by_check["label.policy_steps"].value_hash == value_hash("chat")
    assert by_check["trajectory.answer_text_missing"].value_hash == value_hash(None)


def test_findings_are_data() -> None:
    one = Finding("schema.rule", "error", "/tasks/t1", "No.", "0" * 16)
    assert one == Finding("schema.rule", "error", "/tasks/t1", "No.", "0" * 16)
    with pytest.raises(AttributeError):
        one.check = "other"  # type: ignore[misc]


# Settings


def test_a_project_chooses_severities() -> None:
    bad = document(task("t1", "multi_tool", "explicit", call("s0", "translate", text=7), answer(None)))
    settings = CheckSettings(
        severities={"schema.wrong_type": "warning", "label.policy_steps": "off", "graph.not_annotated": "warning"}
    )
    before = {one.check: one.severity for one in findings(bad)}
    assert before == {"schema.wrong_type": "error", "label.policy_steps": "error", "graph.not_annotated": "error"}
    after = {one.check: one.severity for one in findings(bad, settings=settings)}
    assert after == {"schema.wrong_type": "warning", "graph.not_annotated": "warning"}
    # Unfinished parts are only reminders until submission.
    assert {one.check: one.severity for one in findings(bad, "save", settings=settings)} == {
        "schema.wrong_type": "warning",
        "graph.not_annotated": "info",
    }


# The registry


def test_every_check_says_what_it_is() -> None:
    checks = all_checks()
    assert [info.id for info in checks] == sorted({info.id for info in checks})
    assert {info.family for info in checks} == {
        *(
            "schema",
            "graph",
            "provenance",
            "trajectory",
            "label",
            "dialogue",
            "constraint",
            "validator",
            "task",
            "execution",
            "composite",
            "field",
            "toolset",
        )
    }
    for info in checks:
        assert info.id.startswith(f"{info.family}.")
        assert info.title
        assert not info.title.endswith(".")
        assert info.description.endswith((".", ".)"))
        assert "  " not in info.description
        assert set(info.severities) == set(STAGES)


def test_what_is_unfinished_becomes_an_error_when_submitted() -> None:
    severities = {info.id: info.severities for info in all_checks()}
    expected = {"import": "info", "save": "info", "submit": "error", "release": "error"}
    assert severities["graph.not_annotated"] == expected
    assert severities["schema.wrong_type"] == dict.fromkeys(STAGES, "error")
    assert severities["dialogue.near_duplicate"] == dict.fromkeys(STAGES, "warning")


# Whatever comes

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-200, 200) | st.floats(-200, 200) | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["latitude", "id", "error", "status", "response", "items", "city", "guests", "a/b", "show_id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
needs = st.none() | st.lists(
    st.sampled_from(["s0", "s1", "s2", "a"]).map(lambda i: {"id": i, "kind": "logical"}), max_size=3
)
names = st.sampled_from([entry["function"]["name"] for entry in TOOLS] + ["nothing"])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    tasks = []
    for t in range(draw(st.integers(1, 3))):
        steps = []
        for s in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["call", "clarification", "answer"]))
            step: dict[str, Any] = {"type": kind, "id": f"s{s}", "depends_on": draw(needs)}
            if kind == "call":
                step["name"] = draw(names)
                keys = st.sampled_from(["city", "area", "nights", "guests", "board", "text", "other"])
                step["arguments"] = draw(st.dictionaries(keys, anything, max_size=4) | words)
                step["observation"] = draw(anything)
            elif kind == "clarification":
                step["question"] = draw(st.none() | words)
                step["user_reply"] = draw(st.none() | words)
            else:
                step["text"] = draw(st.none() | words)
                step["answer_type"] = draw(st.sampled_from([None, "tool", "chat"]))
            steps.append(step)
        policy = draw(st.sampled_from([None, "single_tool", "multi_tool", "clarify", "chat"]))
        information = draw(st.sampled_from([None, "explicit", "long_range_dependency"]))
        tasks.append(task(f"t{t}", policy, information, *steps, message=draw(words)))
    return document(*tasks, language=draw(st.sampled_from([None, "en", "zh"])))


def hash_at(document: dict[str, Any], anchor: str) -> str:
    """The hash of the value at an anchor; of null if its last key is missing."""
    try:
        return value_hash(resolve(document, anchor))
    except AnchorMissing:
        assert isinstance(resolve(document, anchor.rpartition("/")[0]), dict)
        return value_hash(None)


@given(documents(), st.sampled_from(STAGES))
def test_whatever_stands_in_a_document_it_is_checked(document: dict[str, Any], stage: Any) -> None:
    stored = load_text(canonical(document))
    found = run_checks(stored, TOOLSET, stage=stage)
    assert found == run_checks(stored, TOOLSET, stage=stage)
    assert [one.value_hash for one in found] == [hash_at(stored, one.anchor) for one in found]
    assert all(one.message.strip().endswith((".", "?")) for one in found)
    assert canonical(stored) == canonical(document)
