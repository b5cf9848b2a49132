"""Entries of dialogues, and the challenges of C3-Bench: which they are, and what they show a model."""

import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.archives.entry_rows import EntryRows, Row, as_line, as_record, as_table_row
from benchmark.core.archives.message_copies import as_messages
from benchmark.core.archives.table import CHALLENGE_COLUMNS, ENTRY_COLUMNS, SPLIT
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.interface import CANARY
from benchmark.core.formats.native_remainder import native
from benchmark.core.scoring.references import ReferenceDialogue
from benchmark.core.scoring.scorers import MultiTurnScorer, Refused
from tests.benchmark.formats.cctu_records import whole as case_record
from tests.benchmark.formats.format_records import (
    bilingual_wild_record,
    c3_record,
    openai_record,
    read,
    single_record,
)
from tests.benchmark.scoring.scoring_cases import RIGHT, TASKS, node, prediction, wild_record

Rows = dict[str, list[dict[str, Any]]]


def entry_rows(native_format: str = "c3") -> EntryRows:
    return EntryRows(native_format, lambda name: f"tools of {name}")


def rows_of(record: dict[str, Any], form: str = "wild", native_format: str = "c3") -> tuple[Rows, dict[str, Any]]:
    """The rows of one dialogue with plain values, and what was counted."""
    rows = entry_rows(native_format)
    found = {split: [as_record(row) for row in some] for split, some in rows.of(read(form, record)).items()}
    return found, rows.summary()


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def test_each_challenge_has_the_entries_and_histories_of_the_paper() -> None:
    """A single-tool task, one of two calls before a third, and one that asks first."""
    found, counts = rows_of(wild_record())
    assert ids(found[SPLIT]) == ["d_0#0", "d_0#1", "d_0#2"]
    assert ids(found["challenge_1"]) == ["d_0#1@challenge_1"]
    assert ids(found["challenge_2"]) == ["d_0#1@challenge_2", "d_0#2@challenge_2"]
    assert ids(found["challenge_3"]) == ["d_0#1@challenge_3", "d_0#2@challenge_3"]
    assert [row["challenges"] for row in found[SPLIT]] == [
        [], ["challenge_1", "challenge_2", "challenge_3"], ["challenge_2", "challenge_3"],
    ]  # fmt: skip
    assert counts == {
        "entries": 3,
        "not_scored": 0,
        "challenges": {
            "challenge_1": {"history": "calls", "entries": 1, "dialogues": 1, "excluded": {"not_multi_tool": 2}},
            "challenge_2": {"history": "answers", "entries": 2, "dialogues": 1, "excluded": {"first_task": 1}},
            "challenge_3": {"history": "calls", "entries": 2, "dialogues": 1, "excluded": {"first_task": 1}},
        },
    }

    def said(row: dict[str, Any]) -> list[tuple[str, Any]]:
        return [(one["role"], one["content"] if "tool_calls" not in one else len(one["tool_calls"]))
                for one in row["messages"]]  # fmt: skip

    date = ("system", "Current date: 2026-02-03 09:00:00 Tuesday")
    first = [("user", "Task 0 of d_0"), ("assistant", 1), ("tool", '{"ok":true}'), ("assistant", "Done.")]
    second = [
        ("user", "Task 1 of d_0"), ("assistant", 2), ("tool", '{"ok":true}'), ("tool", '{"ok":true}'),
        ("assistant", 1), ("tool", '{"ok":true}'), ("assistant", "Done."),
    ]  # fmt: skip
    asked = ("user", "Task 2 of d_0")
    assert said(found["challenge_3"][1]) == [date, *first, *second, asked]
    assert said(found["challenge_2"][1]) == [date, first[0], first[3], second[0], second[6], asked]
    assert said(found["challenge_1"][0]) == [date, *first, ("user", "Task 1 of d_0")]
    row = found["challenge_2"][1]
    assert (row["entry"], row["dialogue"], row["task"], row["history"]) == ("d_0#2", "d_0", 2, "answers")
    assert [one["function"]["name"] for one in row["tools"]] == ["find", "read", "send"]
    # The reference is apart: nothing of the task that is scored is in its messages.
    assert [one["action"]["name"] for one in row["reference"]] == [
        "ask_user_for_required_parameters", "read", "prepare_to_answer",
    ]  # fmt: skip


def test_an_entry_has_its_labels_and_its_place_among_the_messages() -> None:
    variants = read("wild", wild_record())
    found, _ = rows_of(wild_record())
    messages = as_messages(variants[0])
    assert messages is not None
    for row in found[SPLIT]:
        assert messages["messages"][row["history_messages"]] == {"role": "user", "content": row["request"]}
    assert [(row["history_messages"], row["history_answers"]) for row in found[SPLIT]] == [(1, 1), (5, 3), (12, 5)]
    labels = ("policy", "task_type", "topology", "information", "switches", "calls", "toolset_sha256", "not_scored")
    assert [tuple(row[name] for name in labels) for row in found[SPLIT]] == [
        ("single_tool", "Single-Tool", "single", "explicit", 0, 1, "tools of d_0", ""),
        ("multi_tool", "Mixed Multi-Tool", "mixed", "partial_information", 1, 3, "tools of d_0", ""),
        ("clarify", "Clarify", "single", "partial_information", 2, 1, "tools of d_0", ""),
    ]


def test_places_count_messages_that_only_the_record_has() -> None:
    record = openai_record()
    record["messages"].insert(8, {"role": "system", "content": "Be brief."})
    (one,) = read("openai", record)
    messages = as_messages(one)
    assert messages is not None
    found = entry_rows("openai").of([one])[SPLIT]
    assert [row["history_messages"] for row in found] == [1, 9]
    assert [messages["messages"][row["history_messages"]]["content"] for row in found] == [
        row["request"] for row in found
    ]
    # Notes may come from anywhere, with a request that the document does not have.
    kept = {"role": "user", "content": "Are you there?"}
    native(one.document)["kept"]["messages"][0].insert(8, kept)
    found = entry_rows("openai").of([one])[SPLIT]
    written = FORMATS["openai"].write([one], full=True)["messages"]
    assert kept in written
    assert [written[row["history_messages"]]["content"] for row in found] == [row["request"] for row in found]


def test_ids_are_those_of_scores() -> None:
    (one,) = read("wild", wild_record())
    scorer = MultiTurnScorer("c3", [ReferenceDialogue(one)])
    scored = [scored for task in range(3) for scored in scorer.add(prediction("d_0", task, RIGHT[task]), "m")]
    assert [one.name for one in scored if not isinstance(one, Refused)] == ids(rows_of(wild_record())[0][SPLIT])


def test_languages_share_an_entry_and_the_wild_format_has_two_histories() -> None:
    found, counts = rows_of(bilingual_wild_record(), native_format="wild")
    name = "wild_tool_bench_7"
    assert [(row["id"], row["language"]) for row in found[SPLIT]] == [
        (f"{name}#{task}", language) for language in ("en", "zh") for task in range(4)
    ]
    assert {row["item"] for row in found[SPLIT]} == {name, f"{name}:zh"}
    assert found.keys() == {SPLIT, "history_answers", "history_calls"}
    for split in ("history_answers", "history_calls"):
        assert ids(found[split]) == [f"{name}#{task}@{split}" for _ in ("en", "zh") for task in range(4)]
        assert counts["challenges"][split] | {"history": ""} == {
            "history": "", "entries": 8, "dialogues": 1, "excluded": {},
        }  # fmt: skip
    for told, whole in zip(found["history_answers"], found["history_calls"], strict=True):
        assert told["messages"] == [
            one for one in whole["messages"] if one["role"] != "tool" and "tool_calls" not in one
        ]


def test_a_run_has_the_language_and_history_of_its_first_record() -> None:
    """Both languages have the same entries, so records of the other one need a run of their own."""
    both = read("wild", bilingual_wild_record())
    rows = [as_record(row) for row in entry_rows("wild").of(both)["history_answers"]]
    scorer = MultiTurnScorer("wild", map(ReferenceDialogue, both))
    found = [one for row in (rows[4], rows[5], rows[1]) for one in scorer.add(row, "m")]
    assert (scorer.language_of("m"), scorer.history_of("m")) == ("zh", "answers")
    assert [isinstance(one, Refused) for one in found] == [False, False, True]
    assert "/language is en, but m is scored with the language zh." in str(found[2])


def test_what_is_excluded_is_counted_with_a_reason() -> None:
    _, counts = rows_of(wild_record(tasks=TASKS * 2))
    assert counts["challenges"]["challenge_1"]["excluded"] == {"more_than_four_tasks": 2, "not_multi_tool": 3}
    assert counts["challenges"]["challenge_2"]["excluded"] == {"first_task": 1, "more_than_four_tasks": 2}

    unknown = [(label, [{k: v for k, v in one.items() if k != "dependency_list"} for one in nodes])
               for label, nodes in TASKS]  # fmt: skip
    found, counts = rows_of(wild_record(tasks=unknown))
    assert {row["not_scored"] for row in found[SPLIT]} == {
        "The dependencies of task 1 of d_0 are not annotated, so its paths are unknown."
    }
    assert counts["not_scored"] == 3
    assert {json.dumps(one["excluded"]) for one in counts["challenges"].values()} == {'{"not_scored": 3}'}
    assert not any(found[f"challenge_{number}"] for number in (1, 2, 3))

    loop = [("Single-Tool", [node("find", 1), node("read", 0), node("answer", 1)])]
    assert rows_of(wild_record(tasks=loop))[0][SPLIT][0]["not_scored"].endswith("form a cycle.")


def test_of_two_dialogues_with_one_name_the_scorers_read_the_last() -> None:
    first, second = (read("wild", wild_record(name))[0] for name in ("d_0", "d_1"))
    first.variant_group = second.variant_group = "d"
    found = entry_rows().of([first, second])
    assert [(row["id"], row["item"], bool(row["not_scored"])) for row in found[SPLIT]] == [
        (f"d#{task}", item, item == "d_0") for item in ("d_0", "d_1") for task in range(3)
    ]
    assert [row["item"] for row in found["challenge_1"]] == ["d_1"]


@pytest.mark.parametrize(
    ("form", "record", "expected"),
    [
        ("cctu", case_record("7"), ("7", "constrained", 1)),
        ("async", single_record(), ("count_0", "single_task", 0)),
    ],
)
def test_cases_and_single_tasks_are_one_entry_each(form: str, record: Any, expected: tuple[str, str, int]) -> None:
    found, counts = rows_of(copy.deepcopy(record), form, native_format="neutral")
    (row,) = found[SPLIT]
    assert (row["id"], row["kind"], row["history_messages"]) == expected
    assert row["request"]
    assert row["reference"]
    assert counts["challenges"]["challenge_3"]["excluded"] == {"other_kind": 1}


def test_a_composite_is_one_entry_that_names_its_single_tasks() -> None:
    members = [
        {"id": f"t{n}", "single": name, "sha256": "0" * 64, "toolset_sha256": "1" * 64, "category": "number",
         "user_message": f"Do {name}.", "calls": n}
        for n, name in enumerate(("count_0", "count_1"), 1)
    ]  # fmt: skip
    document = {"kind": "composite", "composition": "similar", "tasks": members, "max_rounds": 9, "language": "en"}
    one = ReadDialogue("similar2_0", "en", "", document, [])
    (row,) = entry_rows("async").of([one])[SPLIT]
    assert (row["id"], row["calls"], as_record(row)["reference"]) == (
        "similar2_0", 3, {"tasks": ["count_0", "count_1"]},
    )  # fmt: skip
    assert '"question": "Do count_1."' in row["request"]


def test_rows_have_the_columns_of_the_tables_and_the_canary() -> None:
    cases = [("c3", c3_record()), ("cctu", case_record("7")), ("async", single_record())]
    for form, record in cases:
        found = entry_rows("c3").of(read(form, copy.deepcopy(record)))
        for split, some in found.items():
            columns = ENTRY_COLUMNS if split == SPLIT else CHALLENGE_COLUMNS
            for row in some:
                assert_columns(row, columns)


def assert_columns(row: Row, columns: dict[str, str]) -> None:
    line, cells = json.loads(as_line(row, "canary-1")), as_table_row(row, "canary-1")
    assert list(line) == list(cells) == list(columns)
    assert line[CANARY] == cells[CANARY] == "canary-1"
    assert {name for name in columns if line[name] != cells[name]} == {"reference", "messages", "tools"} & set(columns)
    types = {"string": str, "int64": int, "list<string>": list}
    assert [type(cells[name]) for name in columns] == [types[kind] for kind in columns.values()]


def test_a_benchmark_like_the_published_one_has_its_numbers() -> None:
    """256 dialogues of four tasks, one of each sequence of policies: 256 entries in challenge 1, 768 in 2 and 3."""
    kinds = {
        "Single-Tool": TASKS[0][1], "Mixed Multi-Tool": TASKS[1][1], "Clarify": TASKS[2][1], "Chat": [node("answer")],
    }  # fmt: skip
    rows = entry_rows()
    for number, labels in enumerate(product(kinds, repeat=4)):
        rows.of(read("wild", wild_record(f"d_{number}", [(label, kinds[label]) for label in labels])))
    counts = rows.summary()
    assert counts["entries"] == 1024
    assert {name: one["entries"] for name, one in counts["challenges"].items()} == {
        "challenge_1": 256, "challenge_2": 768, "challenge_3": 768,
    }  # fmt: skip
    # A dialogue has no task of several tools in 3 of 4 cases for each of its tasks: 256 - 81.
    assert [one["dialogues"] for one in counts["challenges"].values()] == [175, 256, 256]


def test_real_references_have_the_entries_that_the_published_outcomes_count(shared_data: Path) -> None:
    """In each language 76, 148 and 148 of 212 entries, as in the outcomes of complete runs."""
    rows = entry_rows()
    for record in lines(shared_data / "parity" / "scoring_c3" / "references.jsonl"):
        rows.of(read("c3", record))
    published = json.loads((shared_data / "parity" / "scoring_c3" / "expected_summary.json").read_text())["runs"]
    of = {
        f"challenge_{name}": 2 * right_of[1]
        for run in ("gold", "careful.answers")
        for name, right_of in published[run]["counts"]["challenge"].items()
    }
    assert of == {"challenge_1": 152, "challenge_2": 296, "challenge_3": 296}
    counts = rows.summary()
    assert (counts["entries"], counts["not_scored"]) == (424, 0)
    assert {name: one["entries"] for name, one in counts["challenges"].items()} == of


@pytest.mark.parametrize(
    ("file", "form", "expected"),
    [
        ("c3/paper_cases.jsonl", "c3", (12, 0, [6, 5, 5])),
        ("parity/scoring_wild/references.jsonl", "wild", (424, 0, [424, 424])),
        # Without dependencies, nothing can be scored.
        ("wild/candidates.jsonl", "wild", (27, 27, [0, 0])),
    ],
)
def test_real_dialogues_have_these_entries(
    shared_data: Path, file: str, form: str, expected: tuple[int, int, list[int]]
) -> None:
    rows = entry_rows(form)
    for record in lines(shared_data / file):
        rows.of(read(form, record))
    counts = rows.summary()
    found = counts["entries"], counts["not_scored"], [one["entries"] for one in counts["challenges"].values()]
    assert found == expected


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_the_formats_of_the_papers_have_sets_of_entries() -> None:
    having = {name for name in FORMATS if entry_rows(name).challenges}
    assert having == {"c3", "mmtb", "neutral", "wild"}
