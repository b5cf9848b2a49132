"""Constrained cases made from queries with a reference trajectory."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from annotator.core.case_construction import DRAWN, CannotConstruct, Constructed, construct, read_query
from annotator.core.case_construction.context import USUAL, context_of
from annotator.core.case_construction.expanding import MAX_DRAWS, NOT_DRAWN, NOTHING_DRAWN, ON_REQUEST
from annotator.core.checks import run_checks
from annotator.core.constraints import Ending, Status, categories, find_category, read_parameters, replay
from annotator.core.constraints.feasibility import feasibility_findings
from annotator.core.constraints.reading_case import case_of, constraints_of, rounds_of
from annotator.core.schema import canonical, read_document
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators import judge, read_form, subjects_of
from tests.annotator.case_documents import TOOLS, TOOLSET, Document, call, case, constraint, tool

FLEET = [tool("find_ferry", "harbour"), tool("read_wind", "harbour"), tool("read_timetable", "ferry")]
FLEETS = CompiledToolset.of_tools(FLEET)
CODES = {"find_ferry": "def find_ferry(harbour): ...", "read_wind": "def read_wind(harbour): ..."}


def plain(**fields: Any) -> Document:
    """A query without constraints."""
    return case(**{"constraints": [], "system_prompt": "You answer travellers on the island of Hald."} | fields)


def parallel(final: str = "From Norhavn, the Gull leaves at 21:40 in a wind of 7.") -> Document:
    return plain(
        scenario="parallel_multi_hop",
        reference_trajectory=[
            {"id": "r1", "calls": [call("s1", "find_ferry", "Gull", harbour="Norhavn"),
                                   call("s2", "read_wind", "wind 7", harbour="Norhavn")]},
            {"id": "r2", "calls": [call("s3", "read_timetable", "21:40", ferry="Gull")]},
            {"id": "r3", "final": final},
        ],
        tool_codes=CODES | {"read_timetable": "def read_timetable(ferry): ..."},
        unsolved_set={"find_ferry": ["Gull"], "read_wind": ["7"], "read_timetable": ["21:40"]},
        answer=final,
    )  # fmt: skip


def with_final(final: str, **fields: Any) -> Document:
    rounds = [*case()["reference_trajectory"][:-1], {"id": "r3", "final": final}]
    return plain(reference_trajectory=rounds, answer=final, **fields)


def made(document: Document, seed: int, *, tools: CompiledToolset = TOOLSET, **options: Any) -> Constructed:
    return construct(read_query(document, tools), name="q", seed=seed, **options)


SOURCES = {
    "prose": (plain(), TOOLSET),
    "with constraints": (case(), TOOLSET),
    "parallel": (parallel(), FLEETS),
    "JSON": (with_final('{"ferry": "Gull", "time": "21:40"}'), TOOLSET),
    "table": (with_final("| Ferry | Time |\n|---|---|\n| Gull | 21:40 |"), TOOLSET),
    "Markdown": (with_final("# Norhavn\n\n- **Gull**: 21:40 on 2026-03-31\n- no other\n"), TOOLSET),
    "Chinese": (with_final("最后一班渡轮是 Gull，21:40 离开。", language="zh"), TOOLSET),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_case_is_sound(source: str) -> None:
    document, toolset = SOURCES[source]
    validators = 0
    for seed in range(60):
        one = made(document, seed, tools=toolset, probability=0.7).document
        assert canonical(one) == canonical(made(document, seed, tools=toolset, probability=0.7).document)
        assert read_document(json.loads(canonical(one))) == one
        assert feasibility_findings(case_of(one, toolset.names)) == []
        forms = {i: read_form(v["form"], v["parameters"]) for i, c in enumerate(one["constraints"])
                 if (v := c["validator"])}  # fmt: skip
        accept: dict[int, Callable[[str], tuple[bool, str]]] = {
            i: lambda text, form=form, given=given: form.accepts(text, given) for i, (form, given) in forms.items()
        }
        replayed = replay(constraints_of(one), rounds_of(one), toolset=toolset, validators=accept)
        assert set(replayed.statuses) == {Status.SATISFIED}
        assert replayed.ending is Ending.ANSWERED
        for subject in subjects_of(one):
            form, given = read_form(subject.form or "", subject.form_parameters)
            rows = subject.rows()
            judgement = judge(rows, [form.accepts(row.text, given)[0] for row in rows])
            assert (judgement.errors, judgement.warnings) == ((), ()), subject.text
            validators += 1
        errors = {one.check for one in run_checks(one, toolset, stage="import") if one.severity == "error"}
        assert errors <= {"validator.untried"}
    assert validators > 40


def test_each_category_comes_with_its_probability() -> None:
    """Over n = 400 seeds, a count of mean 200 and deviation 10 (binomial) stays within 3.5 deviations."""
    assert set(DRAWN) == {one.id for one in categories() if one.dimension != "toolset"}
    counts: Counter[str] = Counter()
    for seed in range(400):
        try:
            case_ = made(parallel(), seed, tools=FLEETS)
        except CannotConstruct:
            continue
        assert {each.category for each in case_.left_out}.isdisjoint(names(case_))
        assert {each.reason for each in case_.left_out} <= {NOT_DRAWN}
        counts.update(names(case_))
    assert {name: abs(counts[name] - 200) <= 35 for name in DRAWN} == dict.fromkeys(DRAWN, True)
    assert names(made(parallel(), 1, tools=FLEETS, probability=1)) == list(DRAWN)


def names(case_: Constructed) -> list[str]:
    return [each["category"] for each in case_.document["constraints"]]


def test_what_is_left_out_changes_no_other_category() -> None:
    whole = made(parallel(), 3, tools=FLEETS, probability=1)
    less = made(parallel(), 3, tools=FLEETS, probability=1, without=["length", "tool call count"])
    texts = {each["category"]: each["text"] for each in whole.document["constraints"]}
    assert {each["category"]: each["text"] for each in less.document["constraints"]} == {
        name: text for name, text in texts.items() if name not in ("length", "tool call count")
    }
    assert [(each.category, each.reason) for each in less.left_out] == [
        ("tool call count", ON_REQUEST),
        ("length", ON_REQUEST),
    ]
    assert canonical(made(parallel(), 4, tools=FLEETS).document) != canonical(whole.document)


@pytest.mark.parametrize(
    ("scenario", "lacking"),
    [
        ("single_hop", {"sequential dependencies", "parallel dependencies", "parallel calls count"}),
        ("parallel_single_hop", {"sequential dependencies"}),
        ("multi_hop", {"parallel dependencies", "parallel calls count"}),
        ("parallel_multi_hop", set()),
    ],
)
def test_the_scenario_excludes_categories(scenario: str, lacking: set[str]) -> None:
    one = made(parallel() | {"scenario": scenario}, 2, tools=FLEETS, probability=1)
    assert {each.category for each in one.left_out} == lacking
    assert all(each.reason.startswith("The scenario has") for each in one.left_out)


def test_parameters_come_from_the_trajectory() -> None:
    """It takes 3 rounds and 3 calls, one of each tool; two of them run in parallel; its answer has 11 words."""
    for seed in range(50):
        document = made(parallel(), seed, tools=FLEETS, probability=1).document
        given = {each["category"]: each["parameters"] for each in document["constraints"]}
        assert given["interaction rounds"]["max_round"] >= 4
        assert given["interaction rounds"]["min_round"] in (0, 3)
        assert 3 <= given["tool call count"]["max_callTimes"] <= 4
        assert set(given["specific tool call count"]["max_calls_per_tool"].values()) <= {1, 2}
        # The timetable takes the ferry that the first tool found.
        assert given["sequential dependencies"] == {"order_constraints": [["find_ferry", "read_timetable"]]}
        assert given["parallel dependencies"] == {"parallel_groups": [["find_ferry", "read_wind"]]}
        assert given["parallel calls count"]["max_parallelCallTypes"] in (2, 3)
        length = given["length"]
        size = 11 if length["unit"] == "words" else len("From Norhavn, the Gull leaves at 21:40 in a wind of 7.")
        assert length["min_responseLength"] <= size
        assert length["max_responseLength"] == "inf" or length["max_responseLength"] >= size
        for each in constraints_of(document):
            category = find_category(each.category)
            assert category is not None
            if category.needs != "validator":
                assert each.text == category.sentence(read_parameters(each))


@pytest.mark.parametrize(
    ("final", "forms"),
    [
        ("The Gull leaves at 21:40.", {"lacks", "ends_with", "language"}),
        ('{"ferry": "Gull", "time": "21:40"}', {"json_object", "language"}),
        ("| Ferry | Time |\n|---|---|\n| Gull | 21:40 |", {"table", "language", "lacks"}),
        ("- the **Gull**\n- no other", {"bullets", "markdown", "language", "lacks"}),
        ("From Norhavn on 2026-03-31", {"lacks", "language", "date", "contains"}),
    ],
)
def test_validators_fit_the_response(final: str, forms: set[str]) -> None:
    found = set()
    for seed in range(60):
        document = made(with_final(final), seed, probability=1).document
        found |= {each["validator"]["form"] for each in document["constraints"] if each["validator"]}
    assert found == forms


def test_a_category_without_a_validator_is_left_out() -> None:
    for seed in range(20):
        one = made(with_final("21:40 # 7 | 8"), seed, probability=1)
        assert ("format", "No built-in validator fits the format of the response.") in [
            (each.category, each.reason) for each in one.left_out
        ]


def test_the_filter_draws_again_or_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def limits(*most: int) -> Callable[..., dict[str, Any]]:
        rest = iter(most)
        return lambda query, chance: {"min_callTimes": 0, "max_callTimes": drawn.append(1) or next(rest)}

    monkeypatch.setitem(DRAWN, "tool call count", limits(1, 5))
    one = made(plain(), 1, probability=1)
    change = one.changes[0]
    assert (change.category, change.text, change.dropped) == (
        "tool call count", "Make at most 1 tool call in total.", False,
    )  # fmt: skip
    assert change.reason.startswith("At most 1 call are allowed, but the solution needs 2")
    assert "Make at most 5 tool calls in total." in one.document["system_prompt"]
    drawn.clear()
    monkeypatch.setitem(DRAWN, "tool call count", limits(*[1] * 9))
    one = made(plain(), 1, probability=1)
    assert len(drawn) == MAX_DRAWS
    assert [change.dropped for change in one.changes] == [False, False, True]
    assert "tool call count" not in names(one)
    assert one.left_out[0].category == "tool call count"
    assert one.left_out[0].reason.startswith("At most 1 call are allowed")


def test_what_the_context_says_is_not_said_again() -> None:
    """A constraint that the context states, too, would be stated twice."""
    context = "Write the answer without “!”. Answer in English. End the answer with a full stop."
    source = plain(system_prompt=context, user_query="When does the last boat leave?")
    one = made(source, 5, probability=1)
    assert {change.category for change in one.changes} == {"content"}
    assert "states this constraint 2 times" in one.changes[0].reason
    only = [name for name in DRAWN if name != "content"]
    with pytest.raises(CannotConstruct, match="No constraint remains"):
        made(source, 5, probability=1, without=only)


def test_no_case_without_a_constraint() -> None:
    with pytest.raises(CannotConstruct) as refusal:
        made(plain(), 1, probability=0.000001)
    assert str(refusal.value) == NOTHING_DRAWN


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reference_trajectory": None}, "no reference trajectory"),
        ({"answer": None}, "no reference answer"),
        ({"unsolved_set": {}}, "does not say what its tools must return"),
        ({"user_query": ""}, "no query"),
        ({"tool_codes": {}}, "The tool find_ferry has no code."),
        ({"unsolved_set": {"find_ferry": ["Tern"]}}, "no call of find_ferry returns “Tern”"),
        ({"reference_trajectory": [{"id": "r1", "final": "21:40"}]}, "has no call"),
        ({"reference_trajectory": case()["reference_trajectory"][:-1]}, "no accepted response"),
    ],
)
def test_a_source_without_a_part_is_refused(changes: Document, told: str) -> None:
    with pytest.raises(CannotConstruct, match=told):
        made(plain(**changes), 1)


def test_the_constraints_of_the_source_are_left_out() -> None:
    """With what they refused: a second timetable, and an answer that came too early."""
    limit = constraint("c9", "resource", "specific tool call count", "Read one timetable at most.",
                       parameters={"max_calls_per_tool": {"read_timetable": 1}})  # fmt: skip
    calls = case()["reference_trajectory"]
    refused = {"id": "r4", "calls": [call("s4", "read_timetable", "No.", ferry="Tern")]}
    early = {"id": "r5", "final": "Wait."}
    source = case(
        constraints=[*case()["constraints"], limit],
        reference_trajectory=[*calls[:2], refused, early, calls[2]],
        system_prompt=case()["system_prompt"] + "- Read one timetable at most.\n",
    )
    query = read_query(source, TOOLSET)
    assert query.document["system_prompt"] == "You answer travellers on the island of Hald."
    assert [each["id"] for each in query.document["reference_trajectory"]] == ["r1", "r2", "r3"]
    assert query.document["constraints"] == []


def test_the_context_keeps_what_states_no_constraint() -> None:
    rules = constraints_of(case())
    prompt = f"Be kind. {rules[0].text} Speak slowly.\n\nRules:\n\n1. {rules[1].text}\n2. Never guess.\n"
    assert context_of(prompt, rules) == "Be kind. Speak slowly.\n\nRules:\n\n2. Never guess."
    assert context_of(rules[0].text or "", rules) == ""
    prompt = made(plain(system_prompt=None), 3).document["system_prompt"]
    assert prompt.startswith(f"{USUAL}\n\nKeep to these rules:\n- ")


def test_a_missing_scenario_is_read_from_the_trajectory() -> None:
    assert read_query(plain(scenario=None), TOOLSET).scenario == "multi_hop"
    assert read_query(parallel() | {"scenario": None}, FLEETS).scenario == "parallel_multi_hop"
    assert made(plain(scenario=None), 1).document["scenario"] == "multi_hop"
    assert [one["function"]["name"] for one in TOOLS] == ["find_ferry", "read_timetable"]
