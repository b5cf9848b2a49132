"""Provenance of what nobody would write: it ends, soon, and says nothing wrong."""

from datetime import date
from typing import Any

import pytest

from annotator.core.checks import run_checks
from annotator.core.provenance import Origin, trace
from annotator.core.provenance.dates_in_text import dates_in, times_in
from annotator.core.provenance.derivations import derived
from annotator.core.provenance.described_values import described
from annotator.core.provenance.inferences import DateParts, abbreviated, asks_to_round
from annotator.core.provenance.named_codes import named_code
from annotator.core.provenance.numbers_in_text import numbers_in
from annotator.core.provenance.relative_dates import days_meant
from annotator.core.provenance.scope import MAX_LEAVES as MAX_VALUES
from annotator.core.provenance.scope import MAX_LEAVES_OF_ALL
from annotator.core.provenance.search_targets import MAX_CHARACTERS, MAX_LEAVES, Observation, Text
from annotator.core.provenance.value_forms import forms_of
from annotator.core.provenance.work_budget import MAX_WORK, Work
from benchmark.services.imports.preparing import patience
from tests.annotator.core.checks.check_cases import TOOLSET, call, document, task

PIECES = {
    "digits": "1",
    "commas": "1,",
    "thousands": "1,000",
    "points": "1.",
    "dates": "1-1-",
    "slashes": "12/",
    "months": "may ",
    "days": "5 may to ",
    "ranges": "1 to 2 to ",
    "han": "十",
    "han dates": "一月",
    "times": "1:0",
    "spaces": " ",
    "dashes": "-_",
    "letters": "a",
    "words": "twenty-",
    "percent": "1 %",
    "lines": "\n",
    "capitals": "İ",
    "units": "1 km ",
    "lengths": "an hour and a half ",
    "days ahead": "in 3 days ",
    "weekdays": "next friday ",
    "han days": "三天后",
    "clock": "quarter to 3 ",
    "ordinals": "twenty-first ",
    "digits in words": "one two ",
    "quotes": "'a' or ",
    "options": "options: a, ",
    "brackets": "(a/b",
    "zeros": "a_0",
    "minuses": "-1 ",
    "decimal commas": "1.000,5 ",
    "addresses": "a.b@c ",
    "names": "Rim Rem ",
    "one name": "Rm",
    "ordinal days": "15th 11/15 ",
}
VALUES: list[Any] = [
    "aaaa",
    "a b",
    "twenty",
    1.5,
    11,
    "2024-07-05",
    "08:00",
    "十一月",
    "1-1-1",
    "H-1",
    "-- __ --",
    "may to may",
]


def search(text: str) -> None:
    bodies = (Text(text), Observation({"x": text}))
    for value in VALUES:
        for body in bodies:
            body.has(forms_of(value))
            body.hits(forms_of(value))
    numbers_in(text, []), dates_in(text), times_in(text), days_meant(text, date(2026, 3, 4)), described(text)
    for value in (90, 1_772_667_000, "ann.bell@example.org", "2026-03-04"):
        derived(forms_of(value), "duration_minutes", "", bodies[value == 90], Work())
    named_code("pt-br", text), named_code("jfk", text.lower(), text), abbreviated("RMS", text), asks_to_round(text)
    DateParts(text, [(0, 9)] * 1_000)


@pytest.mark.parametrize("piece", PIECES.values(), ids=list(PIECES))
def test_a_long_text_is_searched_to_its_end(piece: str) -> None:
    """This takes at most 3 seconds of computing; work in the square of the length would take hours."""
    long = piece * ((MAX_CHARACTERS - 100) // len(piece))
    with patience(60.0):
        search(long)
    assert Text(f"{long} Graz").has(forms_of("Graz"))


def test_what_lies_behind_the_bound_is_not_seen() -> None:
    text = "x " * (MAX_CHARACTERS // 2)
    assert not Text(f"{text}Graz").has(forms_of("Graz"))
    assert Text(f"Graz {text}").has(forms_of("Graz"))


def test_a_value_deep_in_an_observation_is_as_near_as_any_other() -> None:
    """Indented, an observation forty levels deep fills the bound with spaces, and megabytes make gigabytes."""
    root: Any = [*range(100_000, 100_000 + MAX_LEAVES), "Graz"]
    for _ in range(40):
        root = [root]
    observation = Observation(root)
    assert observation.has(forms_of("Graz"))
    assert observation.has(forms_of(100_000 + MAX_LEAVES - 1))
    assert not observation.has(forms_of(99_999))


def test_too_much_to_look_through_is_not_known() -> None:
    arguments = {f"x{i}": f"value number {i} {i}" for i in range(1_500)}
    steps = [call(f"s{i}", "translate", None, "y " * (MAX_CHARACTERS // 2), **arguments) for i in range(4)]
    big = document(task("t1", "multi_tool", "explicit", *steps, message="z " * 1_000))
    traced = trace(big, TOOLSET)
    origins = [argument.origin for one in traced.tasks[0].calls for argument in one.arguments]
    assert set(origins) == {Origin.NOWHERE, Origin.UNKNOWN}
    # The first call sees the message alone.
    assert origins[1_500:].count(Origin.NOWHERE) <= MAX_WORK // MAX_CHARACTERS
    run_checks(big, TOOLSET, stage="submit")


HAYSTACKS: dict[str, tuple[str, Any]] = {
    "digits": (" ".join(map(str, range(100_000, 128_000))), 10),
    "letters": ("ab" * (MAX_CHARACTERS // 2), "ab"),
    "pieces": ("a" * 29_000, "a" * 96 + "ba"),
    "words": ("zzz " * (MAX_CHARACTERS // 4), " ".join(f"q{n}w" for n in range(80))),
    "inflected": (" ".join(f"abcd{a}{b}{c}x" for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefgh"), "abcdqqqq"),
    "days": ("2024-01-02 " * 18_000, "2023-01-02"),
    "hours": ("10:15 " * 33_000, "2023-03-04 11:22"),
}


@pytest.mark.parametrize("name", HAYSTACKS)
def test_a_value_that_almost_stands_everywhere_uses_up_what_a_dialogue_may_take(name: str) -> None:
    """Each look at a place that comes to nothing is counted: 2,000 values in such a text took minutes."""
    text, value = HAYSTACKS[name]
    work = Work()
    looks = 0
    body = Text(text, work=work)
    while not work.spent and looks < 10_000:
        assert not body.has(forms_of(value))
        looks += 1
    assert looks < 5_000
    assert not body.has(forms_of(text[:3])), "nothing is found where nothing is left"


def test_a_call_of_thousands_of_values_is_traced_in_part_and_says_so() -> None:
    flat = call("s0", "x", None, **{f"k{n}": 1_000 + n for n in range(2 * MAX_VALUES)})
    nested = [call(f"s{n}", "x", None, a=list(range(2 * MAX_VALUES))) for n in range(1, 12)]
    huge = document(task("t1", None, None, flat, *nested, message="Go."))
    traced = trace(huge, TOOLSET).tasks[0].calls
    assert len(traced[0].arguments) == MAX_VALUES - 1
    assert sum(len(one.arguments) for one in traced) <= MAX_LEAVES_OF_ALL
    told = [one for one in run_checks(huge, TOOLSET, stage="submit") if one.check == "provenance.partly_traced"]
    assert [one.anchor for one in told] == [f"/tasks/t1/steps/s{n}/arguments" for n in range(12)]
    assert "Only the first 1,999 values" in told[0].message


def test_a_dependency_is_called_unfounded_only_where_every_value_was_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unfounded(names: list[str], last: str) -> int:
        first = call("s0", "find", "", {"hotelId": "H-17"}, city="Graz")
        later = call("s1", "book", "s0", "done", rooms=[*names, last])
        doubtful = document(task("t1", None, None, first, later, message=f"In Graz: {' '.join(names)} y"))
        found = run_checks(doubtful, TOOLSET, stage="submit")
        return sum(one.check == "provenance.unsupported_dependency" for one in found)

    names = [f"x{n}" for n in range(MAX_VALUES + 100)]
    assert [unfounded(names[:9], "y"), unfounded(names[:9], "H-17"), unfounded(names, "H-17")] == [1, 0, 0]
    monkeypatch.setattr(Work, "spent", True)
    assert unfounded(names[:9], "y") == 0


@pytest.mark.parametrize(
    "value",
    [
        "9" * 5_000,
        "-",
        "1,",
        "+",
        "١٢",
        "²",
        "1e5",
        10**18,
        1e300,
        1e-7,
        "\n",
        "a" * 100_000,
        "年月日",
        "99:99",
        "0-0-0",
    ],
    ids=str,
)
def test_odd_values_are_looked_for_like_others(value: Any) -> None:
    odd = document(
        task("t1", None, None, call("s0", "translate", None, [value], x=value), message=f"Take {value} now.")
    )
    (argument,) = trace(odd, TOOLSET).tasks[0].calls[0].arguments
    assert argument.origin in (Origin.MESSAGE, Origin.COMMON, Origin.WRITTEN)
    assert forms_of(value).written or forms_of(value).common or Observation([value]).has(forms_of(value))


def test_nested_arguments_have_anchors_of_their_own() -> None:
    arguments = {"a/b": {"~": ["Graz", {"": "Linz"}]}}
    odd = document(task("t1", None, None, call("s0", "x", None, **arguments), message="Graz, Linz"))
    (traced,) = trace(odd, TOOLSET).tasks[0].calls
    assert [argument.anchor for argument in traced.arguments] == [
        "/tasks/t1/steps/s0/arguments/a~1b/~0/0",
        "/tasks/t1/steps/s0/arguments/a~1b/~0/1/",
    ]


def test_arguments_that_are_no_object_have_no_values() -> None:
    broken = call("s0", "translate", None)
    broken["arguments"] = '{"text": "Gr'
    (traced,) = trace(document(task("t1", None, None, broken)), TOOLSET).tasks[0].calls
    assert traced.arguments == ()


def test_graphs_that_run_in_a_circle_are_traced_in_document_order() -> None:
    first = call("s0", "searchHotels", "s1", {"hotels": [{"hotelId": "H-17"}]}, city="Graz")
    second = call("s1", "book_room", "s0", hotelId="H-17", nights=1)
    traced = trace(document(task("t1", None, None, first, second)), TOOLSET).tasks[0]
    assert traced.missing == ()
    assert [(one.step, one.needs) for one in traced.suggestions] == [("s1", "s0")]
