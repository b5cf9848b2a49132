"""Hostile data at its bounds (docs/limits.md): each is read, or refused in words, in a time that a loop gone wild would
use up. What takes longer is stopped, and its test fails.
"""

import importlib
import itertools
import json
import pkgutil
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

import annotator
import benchmark
import reviews
from annotator.core.checks import Finding
from annotator.core.comparison import added_alike, discrepancies, merge, value_text
from annotator.core.constraints import sentence_claims as claims
from annotator.core.constraints.anchoring import MAX_PROMPT, MAX_SPANS, anchor_findings, nearest, sentences
from annotator.core.constraints.behavior import MAX_CHAIN, MAX_NAMED
from annotator.core.constraints.reading_case import case_of
from annotator.core.forms.values import shown, shown_json
from annotator.core.graph.reading import MAX_STEPS
from annotator.core.schema import read_document
from annotator.core.schema.constrained import MAX_CONSTRAINTS
from annotator.core.schema.value_words import closest
from annotator.core.validators import FORMS, mutate
from annotator.core.validators.trial import MUTABLE
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.json_text import pretty_json
from annotator.presentation.document import present
from annotator.presentation.markdown import render_markdown
from annotator.services.projects import MAX_GUIDELINE
from benchmark.core.files.reading import RawLine
from benchmark.core.formats.task_lists import MAX_TASKS
from benchmark.services.imports.preparing import Chunk, PreparedRecord, Preparer, Setup, TookTooLong, patience
from reviews.services.adjudication.dispute_rows import DisputeRow
from reviews.services.adjudication.disputes import Outcome, RulingSheet
from tests.factories import make_document

#: Seconds of computing: a hundred times what each of these takes.
PATIENCE = 30.0
SIZE = MAX_PROMPT


def tool(name: str = "get_weather", **schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


def case(prompt: str = "Answer.", rules: Any = (), *, tools: int = 3, unsolved: Any = None) -> tuple[str, Any]:
    """A cctu record; ``rules`` are (category, text, parameters)."""
    files = {f"check_constraint_{n}.json": json.dumps(given) for n, (_, _, given) in enumerate(rules)}
    record = {
        "id": "hostile",
        "messages": [{"role": "system", "content": prompt}, {"role": "user", "content": "Go."}],
        "tools": json.dumps([tool(f"tool_{n}") for n in range(tools)]),
        "unsolved_set": json.dumps(unsolved or {"tool_0": ["x"]}),
        "constraints_list": [[DIMENSIONS[category], category, text] for category, text, _ in rules],
        "check_code": files,
    }
    return "cctu", record


DIMENSIONS = {
    "length": "response", "format": "response", "tool call count": "resource", "interaction rounds": "resource",
    "sequential dependencies": "behavior", "parallel dependencies": "behavior", "parallel calls count": "behavior",
}  # fmt: skip
LENGTH = {"min_responseLength": 1, "max_responseLength": 9, "unit": "words"}


def order(*chains: list[str]) -> tuple[str, str, Any]:
    return "sequential dependencies", "Keep the order.", {"order_constraints": list(chains)}


def group(*groups: list[str]) -> tuple[str, str, Any]:
    return "parallel dependencies", "Call together.", {"parallel_groups": list(groups)}


def names(start: int, count: int) -> list[str]:
    return [f"tool_{start + n}" for n in range(count)]


def dialogue(message: str, *calls: dict[str, Any], tools: Any = None) -> tuple[str, Any]:
    """A record of one task whose calls are these."""
    document = make_document()
    steps = [
        {"type": "call", "id": f"s{n}", "depends_on": None, "observation": None} | one for n, one in enumerate(calls)
    ]
    document["tasks"] = [{**document["tasks"][0], "user_message": message, "steps": steps}]
    return "neutral", {
        "id": "hostile",
        "tools": tools or [tool(properties={"city": {"type": "string"}})],
        "document": document,
    }


def weather(observation: Any = None, **arguments: Any) -> dict[str, Any]:
    return {"name": "get_weather", "arguments": arguments or {"city": "Ghent"}, "observation": observation}


RECORDS: dict[str, tuple[str, Any]] = {
    "a row of marks in the prompt": case("a" + "?" * 40_000 + "b", [("length", "Use 9 words.", LENGTH)]),
    "a prompt of nothing else": case("?" * SIZE, [("length", "Use 9 words.", LENGTH)]),
    "a prompt past its bound": case("a. " * SIZE, [("length", "Use 9 words.", LENGTH)]),
    "many sentences, many constraints": case(
        ("ab" * 50 + ". ") * (SIZE // 102), [("length", "ac" * 50 + str(n), LENGTH) for n in range(MAX_CONSTRAINTS)]
    ),
    "more constraints than are read": case(rules=[("length", "Use 9 words.", LENGTH)] * 3_000),
    "constraints that all contradict each other": case(
        rules=[
            (category, "Some.", given)
            for _ in range(MAX_CONSTRAINTS // 3)
            for category, given in (
                ("tool call count", {"min_callTimes": 9, "max_callTimes": 9}),
                ("interaction rounds", {"min_round": 3, "max_round": 3}),
                ("parallel calls count", {"min_parallelCallTypes": 0, "max_parallelCallTypes": 2, "unit": "num"}),
            )
        ]
    ),
    "sentences full of demands": case(rules=[("format", "End with 'a' or end with 'b'. " * 99, {})] * MAX_CONSTRAINTS),
    "chains of chains": case(rules=[order(*(names(n, 200) for n in range(200)))]),
    "chains at their bound": case(
        rules=[order(*(names(n, MAX_CHAIN) for n in range(0, MAX_NAMED, MAX_CHAIN)))], unsolved={"tool_499": ["x"]}
    ),
    "orders against groups": case(
        rules=[order(names(n, 2)) for n in range(100)] + [group(names(n, 3)) for n in range(100)],
        unsolved={name: ["x"] for name in names(0, 10_000)},
    ),
    "strange tools in the unsolved set": case(
        tools=500, unsolved={f"tool_{n}_{'ab' * 20}": ["x"] for n in range(5_000)}
    ),
    "strange tools in calls": dialogue(
        "Hello", *({"name": f"got_weather_{n}", "arguments": {}} for n in range(500)),
        tools=[tool(f"get_weather_{n}") for n in range(500)],
    ),
    "values times alternatives": dialogue(
        "Hello", weather(city=[{"x": -1}] * 2_000),
        tools=[tool(properties={"city": {"type": "array", "items": {"anyOf": [{"const": n} for n in range(500)]}}})],
    ),
    "required names times objects": dialogue(
        "Hello", weather(city=[{}] * 1_000),
        tools=[tool(properties={"city": {"type": "array", "items": {
            "type": "object", "required": [f"name {n}" for n in range(1_000)]
        }}})],
    ),
    "objects that lack a name, in many calls": dialogue(
        "Hello", *[weather(city=[{}] * 10_000)] * 60,
        tools=[tool(properties={"city": {"type": "array", "items": {"type": "object", "required": ["a", "b", "c"]}}})],
    ),
    "listed values times values": dialogue(
        "Hello", weather(city=[{"x": 9_999}] * 9_999),
        tools=[tool(properties={"city": {"type": "array", "items": {"enum": [{"x": n} for n in range(10_000)]}}})],
    ),
    "a hostile pattern in a schema": dialogue(
        "Hello", weather(city="a" * SIZE + "!"),
        tools=[tool(properties={"city": {"type": "string", "pattern": "^(a+)+$"}})],
    ),
    "references that double": dialogue(
        "Hello", tools=[tool(**{"$ref": "#/$defs/d0", "$defs": {
            f"d{n}": {"properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "ab"}} for n in range(50)
        } | {"d50": {}}})],
    ),
    "spaces": dialogue(" " * SIZE + "x", weather(" " * SIZE + "x"), weather("\n" * SIZE + "x")),
    "quotation marks": dialogue('"' * SIZE, weather("“" * SIZE), weather("'" * SIZE)),
    "open brackets": dialogue("[your" * (SIZE // 5), weather("{{" * SIZE), weather("<your" * SIZE)),
    "digits": dialogue("1," * SIZE, weather("1." * SIZE, city="1"), weather("1-" * SIZE, city=2)),
    "dates": dialogue("1 January " * (SIZE // 10), weather(city="2026-01-01"), weather("1/1/" * SIZE)),
    "numbers in words": dialogue("one hundred and " * (SIZE // 16), weather(city=100)),
    "numbers in Chinese": dialogue("一百二十" * (SIZE // 4), weather(city=120)),
    "words": dialogue("a-" * SIZE + " a" * SIZE, weather("a_" * SIZE, city="a_a"), weather("get_weather " * SIZE)),
    "JSON that never ends": dialogue("Hello", weather("{" * SIZE), weather("[" * 50 + "1," * SIZE)),
    "many values": dialogue(
        " ".join(map(str, range(20_000))), weather({f"k{n}": n for n in range(20_000)}, city=[*range(9_000)])
    ),
    "steps that all depend on each other": dialogue("Hello", *(
        weather(f"c{n + 1}", city=f"c{n}") | {"depends_on": [{"id": f"s{one}", "kind": "logical"} for one in range(n)]}
        for n in range(120)
    )),
    "steps that depend on nothing": dialogue(
        "Hello", *(weather(city=f"c{n}") | {"depends_on": []} for n in range(120))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_a_hostile_record_is_read_or_refused_within_its_bounds(name: str) -> None:
    kind, record = RECORDS[name]
    line = json.dumps(record).encode()
    (prepared,) = (
        Preparer(Setup(kind), seconds=PATIENCE).prepare(Chunk([RawLine(1, "", line, len(line), True)])).records
    )
    assert isinstance(prepared, PreparedRecord)
    assert prepared.dialogues or prepared.problems
    assert "of computing" not in str(prepared.problems)
    told = json.dumps([asdict(one) for one in prepared.problems or prepared.dialogues[0].findings])
    assert re.search(TOLD.get(name, ""), told), told[:2_000]
    assert len(told) < 2_000_000


#: What one is told at a bound.
TOLD = {
    "a prompt past its bound": r"Only the first 200,000 are searched for constraints. Shorten the prompt.",
    "more constraints than are read": r"There are 3000 constraints. The limit is 200.",
    "chains of chains": r"name 40,000 tools. The limit is 500. Shorten them.",
    "required names times objects": r"lacks \\u201cname 0\\u201d, which the schema requires",
    "objects that lack a name, in many calls": r"steps/s59/arguments/city/0/a.*lacks \\u201ca\\u201d",
    "listed values times values": r"too many for the schema of get_weather",
    "values times alternatives": r"too many for the schema of get_weather",
}


def test_the_sentences_of_a_prompt_are_those_that_the_quadratic_pattern_found() -> None:
    old = re.compile(r"[^\n.!?。！？]+(?:[.!?。！？]+(?=\s|$|[\"”'])[\"”']?|[.!?。！？](?!\s)[^\n.!?。！？]*)*")
    for length in range(7):
        for letters in itertools.product('a.? \n"', repeat=length):
            text = "".join(letters)
            found = [match[0].strip(" \n") for match in old.finditer(text) if match[0].strip(" \n")]
            assert [text[one.start : one.end] for one in sentences(text)] == found, text


def test_what_is_most_alike_is_found_without_comparing_in_full() -> None:
    prompt = "Answer in French. Make at most 5 tool calls in all. Use the tools get_weather and book_room."
    span = nearest(prompt, "make at most six tool calls in all")
    assert span is not None
    assert prompt[span.start : span.end] == "Make at most 5 tool calls in all."
    assert nearest(prompt, "Something else is wanted here") is None
    assert closest("get_wheather", ["book_room", "get_weather", "get_whether_or_not"]) == "get_weather"
    assert closest("unheard_of", ["book_room", "get_weather"]) is None
    with patience(PATIENCE):
        for first, second in (("ab", "ac"), ("a", "a"), ("a. ", "a. ")):
            nearest(first * SIZE, second * SIZE)
            closest(first * SIZE, [second * 200] * 512)


def test_a_guideline_of_equal_headings_gives_each_an_id_without_counting_from_the_beginning() -> None:
    with patience(PATIENCE):
        html = render_markdown("# a\n" * (MAX_GUIDELINE // 4), anchors=True)
    assert f'id="s-a-{MAX_GUIDELINE // 4}"' in html


def test_versions_that_differ_everywhere_are_merged() -> None:
    def version(side: str) -> dict[str, Any]:
        document = make_document()
        task = document["tasks"][0]
        step = task["steps"][0]
        steps = [step | {"id": f"s{n}", "name": f"{side}{n}", "arguments": {"city": side}} for n in range(MAX_STEPS)]
        document["tasks"] = [task | {"id": f"t{n}", "steps": steps} for n in range(MAX_TASKS)]
        return document

    with patience(PATIENCE):
        result = merge(version("a"), version("b"), version("c"))
    assert len(result.conflicts) == MAX_TASKS * MAX_STEPS


def test_what_both_have_added_is_found_among_thousands_of_differences() -> None:
    def version(side: str) -> dict[str, Any]:
        document = make_document()
        task = document["tasks"][0]
        step = task["steps"][0] | {"observation": None}
        steps = [step | {"id": f"s{n}", "arguments": {"city": f"{side}{n}"}} for n in range(MAX_STEPS // 2)]
        document["tasks"] = [task | {"id": f"t{n}", "steps": steps} for n in range(MAX_TASKS)]
        return document

    left, right = version("a"), version("b")
    with patience(10.0):
        places = discrepancies(left, right)
        alike = added_alike(make_document(), left, right)
        rows = [DisputeRow(n, one.anchor, "", "", "text", "", "") for n, one in enumerate(places)]
        sheet = RulingSheet(rows, [], Outcome())
        found = [
            sheet.row_at(f"{one.anchor.rpartition('/')[0]}/{name}") for one in places for name in ("city", "other")
        ]
    assert len(places) == MAX_TASKS * MAX_STEPS // 2
    assert found == [row for one in rows for row in (one, None)]
    assert sheet.row_at("/tasks/t1/steps/s2") is rows[MAX_STEPS // 2 + 2]
    assert {one.anchor for one in places}.isdisjoint(one.anchor for one in alike)
    assert len(alike) > len(places)


def test_thousands_of_findings_find_their_places_on_a_page() -> None:
    document = make_document()
    task, step = document["tasks"][0], document["tasks"][0]["steps"][0]
    steps = [step | {"id": f"s{n}"} for n in range(MAX_STEPS)]
    document["tasks"] = [task | {"id": f"t{n}", "steps": steps} for n in range(MAX_TASKS)]
    anchors = [f"/tasks/t{t}/steps/s{s}/name" for t in range(MAX_TASKS) for s in range(MAX_STEPS)]
    findings = [Finding(check="x", severity="error", anchor=one, message="", value_hash="") for one in anchors]
    lost = Finding(check="x", severity="error", anchor="/tasks/t3/steps/gone/name/first", message="", value_hash="")
    with patience(4.0):
        view = present(document, [lost, *findings])
    assert [one.anchor for task in view.tasks for step in task.steps for one in step.findings] == anchors
    assert [len(task.findings) for task in view.tasks] == [int(n == 3) for n in range(MAX_TASKS)]
    assert view.general == []


def test_a_value_nested_forty_levels_deep_is_shown_without_forty_levels_of_spaces() -> None:
    value: Any = [1] * 10_000
    for _ in range(40):
        value = {"a": [value]}
    longest = 12 * len(json.dumps(value))
    step = make_document()["tasks"][0]["steps"][0] | {"type": "call", "arguments": value, "observation": value}
    view = present(make_document() | {"tasks": [make_document()["tasks"][0] | {"steps": [step]}]}, []).tasks[0].steps[0]
    texts = [pretty_json(value), shown(value), shown_json(value), value_text(value)]
    texts += [view.arguments_text, view.observation_text]
    assert max(map(len, texts)) < longest
    assert {tuple(json.loads(text)) for text in texts} == {("a",)}
    assert texts[1].splitlines()[:3] == ["{", '  "a": [', "    {"]
    assert macros("values").json([value] * 2).count(" ") < longest


def test_quotes_that_stand_all_over_a_prompt_are_marked_at_their_first_places() -> None:
    rules = [{"id": f"c{n}", "text": "ab " * (n % 9 + 1)} for n in range(MAX_CONSTRAINTS)]
    document = read_document({
        "kind": "constrained", "user_query": "", "system_prompt": "ab " * (MAX_PROMPT // 3), "constraints": rules,
    })  # fmt: skip
    with patience(10.0):
        view = present(document, [])
        told = [one.message for one in anchor_findings(case_of(document))]
    assert [one.spans for one in view.constraints] == [MAX_SPANS] * MAX_CONSTRAINTS
    assert "".join(piece.text for piece in view.pieces) == document["system_prompt"]
    assert len(told) == MAX_CONSTRAINTS
    assert all(" 5 or more times. State it once." in one for one in told)


@pytest.mark.parametrize("text", ["ab, ", "ab. ", "and ", "ab", "1,", "i.e", '"', "?", " ", ".*"])
def test_clauses_of_a_long_prompt_are_compared_with_many_constraints_in_linear_time(text: str) -> None:
    quoted = " ".join(f'"ab{n}"' for n in range(500))
    rules = [
        {"id": f"c{n}", "category": "content", "text": f"{quoted} {n}", "dimension": "response"}
        for n in range(MAX_CONSTRAINTS)
    ]
    prompt = "ab, " + text * (MAX_PROMPT // len(text) - 9) + "ab"
    document = read_document({
        "kind": "constrained", "user_query": "", "system_prompt": prompt, "constraints": rules,
    })  # fmt: skip
    with patience(10.0):
        assert {one.check for one in anchor_findings(case_of(document))} == {"constraint.unstated"}


@pytest.mark.parametrize("text", ["[", "-", "- ", "\t-", "[a](", "|-", "`", "<think>", "1.", "a|\n---|\n"])
def test_a_response_is_broken_and_judged_by_every_form_in_linear_time(text: str) -> None:
    response = (text * MUTABLE)[:MUTABLE]
    parameters = {
        "json_object": {"keys": []}, "starts_with": {"texts": ["a"]}, "ends_with": {"texts": ["a"]},
        "contains": {"texts": ["a"]}, "lacks": {"texts": ["a"]}, "language": {"language": "en"},
        "date": {"form": "2026-03-31"}, "case": {"case": "upper"},
    }  # fmt: skip
    with patience(1.0):
        mutate(response)
        for key, form in FORMS.items():
            form.accepts(response, form.read(parameters.get(key, {})))


# --- every pattern ----------------------------------------------------------------------------------------------------

#: Characters. At this length a pattern that takes the square takes a minute, and the others at most 0.1 s.
LONG = 100_000
#: Patterns that are matched at one place, or meet short texts alone: how, and the longest text (docs/limits.md).
SHORT = {
    "annotator.core.comparison.variant_values._QUANTITY": ("fullmatch", LONG),
    "annotator.core.checks.observations._ERROR_TEXT": ("match", LONG),
    "benchmark.core.generation.texts.reading._QUANTITIES": ("fullmatch", LONG),
    "annotator.core.checks.placeholders._WHOLE_VALUE": ("fullmatch", 260),
    "annotator.core.constraints.sentence_claims._BETWEEN": ("finditer", claims.MAX_LENGTH),
    "annotator.core.constraints.sentence_claims._UPPER": ("finditer", claims.MAX_LENGTH),
    "annotator.core.constraints.sentence_claims._LOWER": ("finditer", claims.MAX_LENGTH),
    "annotator.core.constraints.demands._JSON_WHOLE": ("search", claims.MAX_LENGTH),
    "annotator.core.constraints.demands._MORE": ("match", claims.MAX_LENGTH),
    "annotator.core.constraints.demands._OPEN_PLACE": ("search", 80),
    "annotator.core.validators.mutations._RULE": ("fullmatch", LONG),
    "annotator.core.schema.type_words._GENERIC": ("fullmatch", 80),
    "annotator.core.schema.type_words._OF": ("fullmatch", 80),
    "annotator.core.schema.type_words._SEPARATOR": ("finditer", 80),
    "annotator.core.provenance.derivations._ADDRESS": ("fullmatch", LONG),
    "annotator.core.people_lines._ADDRESS": ("fullmatch", 500),
    "reviews.services.adjudication.review_sessions._ADDRESS": ("fullmatch", LONG),
    "benchmark.core.files.cctu_check_files._PATH": ("fullmatch", LONG),
    "benchmark.core.scoring.arguments.published_c3._COORDINATES": ("match", LONG),
}
PIECES = (
    "a", "0", " ", "\n", ".?", "-", "*", '"', "[", "<", "/", "一", "a_", "0,",
    "[a](", "``", "\\n", "from ", "entire ", "x of ",
)  # fmt: skip


def patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern of a module: name → pattern."""
    found: dict[str, re.Pattern[str]] = {}
    for package in (annotator, reviews, benchmark):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"\.(migrations|inside|config|__main__)\b", module.name):
                for name, value in vars(importlib.import_module(module.name)).items():
                    for number, one in enumerate(_patterns(value)):
                        if isinstance(one.pattern, str):
                            found.setdefault(f"{module.name}.{name}{number or ''}", one)
    return found


def _patterns(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _patterns((*value, *value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _patterns(one)


def test_no_pattern_takes_time_in_the_square_of_a_text() -> None:
    every = patterns()
    assert len(every) > 100
    assert SHORT.keys() <= every.keys()
    slow = []
    for name, pattern in every.items():
        method, longest = SHORT.get(name, ("finditer", LONG))
        for piece in PIECES:
            text = (piece * longest)[:longest] + "!"
            try:
                with patience(2.0):
                    deque(pattern.finditer(text), 0) if method == "finditer" else getattr(pattern, method)(text)
            except TookTooLong:
                slow.append((name, piece))
                break
    assert slow == []
