"""The cctu format: what becomes of a record, what is said of a broken one, and that it comes back as it was."""

import copy
import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical, load_text, read_document, value_hash
from benchmark.core.files.cctu_check_files import mark, paths_of, unmark
from benchmark.core.files.reading import RawRecord, RecordError
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.outdated_remainder import forget_outdated
from benchmark.services.releases.items import Item
from tests.annotator.case_documents import CODE, call, case
from tests.benchmark.conftest import as_zip
from tests.benchmark.formats.cctu_records import QUERY, files, members, record, whole
from tests.benchmark.formats.format_records import read_records

CANARY = "Benchmark data. Canary 1234"


def read(data: Any) -> ReadDialogue:
    (dialogue,) = FORMATS["cctu"].read(data)
    assert read_document(dialogue.document) == dialogue.document
    assert dialogue.text == canonical(dialogue.document)
    return dialogue


def stored(dialogue: ReadDialogue) -> ReadDialogue:
    """The dialogue as the database gives it back: keys sorted."""
    tools = load_text(canonical({"tools": dialogue.tools}))["tools"]
    return replace(dialogue, document=load_text(dialogue.text), tools=tools)


def written(dialogue: ReadDialogue, **options: Any) -> dict[str, Any]:
    return FORMATS["cctu"].write([stored(dialogue)], **options)


def told(data: Any) -> dict[str, str]:
    return {warning.pointer: warning.message for warning in read(data).warnings}


def problems(data: Any) -> dict[str, str]:
    with pytest.raises(SchemaProblem) as raised:
        FORMATS["cctu"].read(data)
    return {problem.pointer: problem.message for problem in raised.value.problems}


def test_a_record_becomes_a_constrained_document() -> None:
    dialogue = read(whole())
    expected = case(reference_trajectory=None)
    document = dialogue.document
    assert dialogue.warnings == []
    assert [tool["function"]["name"] for tool in dialogue.tools] == ["find_ferry", "read_timetable"]
    for key in expected.keys() - {"constraints", "extra"}:
        assert document[key] == expected[key]
    for mine, theirs in zip(document["constraints"], expected["constraints"], strict=True):
        assert mine | {"extra": {}} == theirs


def test_a_line_alone_is_read_and_says_what_it_lacks() -> None:
    found = told(record())
    assert set(found) == {f"/constraints_list/{n}" for n in range(5)}
    assert "has no parameters" in found["/constraints_list/0"]
    assert "has no validator" in found["/constraints_list/4"]
    assert "check_constraint_4.py" in found["/constraints_list/4"]
    assert "check_code" not in written(read(record()))


@pytest.mark.parametrize(
    "data",
    [
        whole(),
        record(),
        whole(7),
        record(constraints_list=[]),
        whole(source="lab", score=1.5),
        record(answer=42, data_source="Zigzag", unsolved_set="{", codes='["x"]'),
        record(answer=None, tools=json.loads(record()["tools"]), unsolved_set={"find_ferry": ["Gull"]}),
        record(messages=[{"role": "user", "content": QUERY, "name": "ann"}]),
        record(messages=[*record()["messages"], {"role": "assistant", "content": "Wait."}]),
        record(constraints_list=[["Response", None, None], [None, None, None], "lost", ["Response", "Format"]]),
        record(check_code={"check_constraint_0.json": "[1]", "check_constraint_9.py": "x = 1"}),
        record(constraints_list=[["Response", "Format", "Shortly.", 4], ["a", 2, "b", []], ["a", "b", "c"], []]),
        record(check_code={}),
        record(check_code=None),
        {"id": "1", "messages": [{"role": "user", "content": "x"}], "tools": "[]", "constraints_list": []},
    ],
)
def test_an_untouched_record_comes_back_as_it_was(data: dict[str, Any]) -> None:
    dialogue = read(data)
    assert written(dialogue) == data | {"id": str(data["id"])} if type(data["id"]) is str else data
    assert canonical(read(written(dialogue)).document) == dialogue.text


@pytest.mark.parametrize("data", [whole(), record(), record(check_code={"check_constraint_0.json": "{}"})])
def test_what_a_release_adds_is_taken_out_again(data: dict[str, Any]) -> None:
    dialogue = read(data)
    released = written(dialogue, full=True, canary=CANARY)
    assert released["canary"] == CANARY
    assert all(CANARY in text for text in released.get("check_code", {}).values())
    assert read(released).text == dialogue.text


def test_files_are_handed_out_by_path() -> None:
    data = written(read(whole()))
    paths = FORMATS["cctu"].take_files(data)
    assert data == record()
    assert paths["check_code/7/check_constraint_4.py"] == CODE.encode()
    assert len(paths) == 5


def test_a_constraint_without_its_label_is_named_and_kept() -> None:
    data = whole()
    data["constraints_list"][2] = ["Response", None, None]
    found = told(data)
    assert list(found) == ["/constraints_list/2"]
    assert found["/constraints_list/2"].startswith("The constraint cannot be judged.")
    constraint = read(data).document["constraints"][2]
    assert (constraint["dimension"], constraint["category"], constraint["text"]) == ("response", None, None)
    assert constraint["parameters"] == {"min_round": 0, "max_round": 6}
    assert written(read(data)) == data


@pytest.mark.parametrize(
    ("label", "function"), [("Content_1", "validate_identifiers"), ("Content_2", "validate_punctuation")]
)
def test_the_published_registrys_own_labels_are_known(label: str, function: str) -> None:
    data = whole()
    data["constraints_list"][4] = ["Response", label, "Name the rivers."]
    data["check_code"]["check_constraint_4.py"] = f"def {function}(response):\n    return True, ''\n"
    assert told(data) == {}
    constraint = read(data).document["constraints"][4]
    assert (constraint["category"], constraint["validator"]["function"]) == ("content", function)
    assert written(read(data)) == data


def test_every_constraint_of_native_cases_is_judged(shared_data: Path) -> None:
    folder = shared_data / "cctu" / "native"
    said = []
    for line in (folder / "input_data.jsonl").read_text().splitlines():
        data = json.loads(line)
        beside = (folder / "check_code" / str(data["id"])).iterdir()
        (dialogue,) = FORMATS["cctu"].read(data | {"check_code": {file.name: file.read_text() for file in beside}})
        said += [warning.message for warning in dialogue.warnings]
        for constraint in dialogue.document["constraints"]:
            validator = constraint["validator"]
            assert validator is None or validator["function"]
    assert said == []


def test_an_edit_gives_up_its_own_original_and_no_other() -> None:
    data = whole()
    data["constraints_list"][2] = ["Response", None, None]
    dialogue = stored(read(data))
    dialogue.document["constraints"][0]["parameters"] = {"min_callTimes": 0, "max_callTimes": 3}
    dialogue.document["constraints"][1]["text"] = "Ferry first."
    result = FORMATS["cctu"].write([dialogue])
    assert json.loads(result["check_code"]["check_constraint_0.json"])["max_callTimes"] == 3
    assert result["constraints_list"][1] == ["Tool", "Tool Order", "Ferry first."]
    assert result["constraints_list"][2] == ["Response", None, None]
    assert result["check_code"]["check_constraint_1.json"] == files()["check_constraint_1.json"]
    assert (result["tools"], result["codes"]) == (data["tools"], data["codes"])


def test_an_edited_constraint_keeps_what_its_entry_says_beside() -> None:
    """Words that name no known category, and whatever follows the text."""
    data = record(
        constraints_list=[
            ["Resource", "Budget", "Spend little.", {"weight": 2}],
            ["Tool", "Tool Order", "Ferry first.", {"weight": 3}, "To wit: Ferry first."],
            ["Resource", "Budget", "Spend little."],
        ]
    )
    dialogue = read(data)
    assert [one["category"] for one in dialogue.document["constraints"]] == [None, "sequential dependencies", None]
    rest_kept = [one.pointer for one in dialogue.warnings if "The rest is kept" in one.message]
    assert rest_kept == ["/constraints_list/0", "/constraints_list/1"]
    document = copy.deepcopy(dialogue.document)
    relabelled, order, unknown = document["constraints"]
    relabelled |= {"dimension": "resource", "category": "interaction rounds", "text": "Two rounds."}
    order["text"], unknown["text"] = "Gull first.", "Spend nothing."
    rest = forget_outdated(document, dialogue.document)
    assert FORMATS["cctu"].write([replace(dialogue, document=rest)])["constraints_list"] == [
        ["resource", "interaction rounds", "Two rounds.", {"weight": 2}],
        ["Tool", "Tool Order", "Gull first."],
        ["Resource", "Budget", "Spend nothing."],
    ]
    order["text"] = dialogue.document["constraints"][1]["text"]
    order["parameters"] = {"order_constraints": []}
    rest = forget_outdated(document, dialogue.document)
    written_again = FORMATS["cctu"].write([replace(dialogue, document=rest)])["constraints_list"]
    assert written_again[1] == data["constraints_list"][1]


def test_a_constraint_taken_out_takes_its_files_along() -> None:
    dialogue = stored(read(whole()))
    del dialogue.document["constraints"][0]
    result = FORMATS["cctu"].write([dialogue])
    assert [entry[1] for entry in result["constraints_list"]] == ["Tool Order", "Round", "Length", "Punctuation"]
    assert result["check_code"]["check_constraint_3.py"] == CODE
    again = read(result).document
    assert [one["id"] for one in again["constraints"]] == ["c1", "c2", "c3", "c4"]


def test_a_file_of_no_constraint_does_not_become_that_of_one_added_since() -> None:
    data = whole()
    data["check_code"] |= {"check_constraint_5.py": CODE, "check_constraint_6.py": CODE}
    dialogue = stored(read(data))
    added = copy.deepcopy(dialogue.document["constraints"][2]) | {"id": "c9"}
    dialogue.document["constraints"].append(added)
    result = FORMATS["cctu"].write([dialogue])
    assert set(result["check_code"]) == {*files(), "check_constraint_5.json", "check_constraint_6.py"}
    item = Item("7", "en", "", dialogue.document, dialogue.tools, tools_text=b"")
    assert item.not_in(result) == ["/extra/@native/loose/check_constraint_5.py"]
    assert read(result).document["constraints"][5]["validator"] is None


def test_what_the_layout_has_no_place_for_comes_back_too() -> None:
    dialogue = read(whole())
    document = load_text(dialogue.text)
    document["reference_trajectory"] = case()["reference_trajectory"]
    document["constraints"][0]["anchor"] = "at most four times"
    document["constraints"][3]["variants"] = [{"first": ["read_timetable"], "parameters": {"max_responseLength": 9}}]
    document["constraints"][4]["validator"] |= {
        "code": None, "function": None, "form": "ends_with", "parameters": {"texts": ["."]},
        "good": ["Yes."], "bad": ["Yes"],
    }  # fmt: skip
    document = read_document(document)
    result = FORMATS["cctu"].write([replace(stored(dialogue), document=document)], full=True, canary=CANARY)
    assert "def validate_content(response)" in result["check_code"]["check_constraint_4.py"]
    again = read(result).document
    for key in ("reference_trajectory", "user_query", "unsolved_set"):
        assert again[key] == document[key]
    for mine, theirs in zip(again["constraints"], document["constraints"], strict=True):
        assert mine | {"extra": {}} == theirs | {"extra": {}}


def test_a_stranger_under_our_field_is_told() -> None:
    assert "/assay/reference_trajectory" in problems(whole(assay={"reference_trajectory": "no"}))
    assert set(problems(whole(assay=[]))) == {"/assay"}
    assert set(problems(whole(assay={"constraints": [{}]}))) == {"/assay/constraints"}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"messages": "hello"}, "/messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "/messages"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "/messages/0/content"),
        ({"messages": [{"role": "user"}]}, "/messages/0/content"),
        ({"messages": [{"role": "system"}, {"role": "user", "content": "x"}]}, "/messages/0/content"),
        ({"tools": "[{"}, "/tools"),
        ({"tools": '{"a": 1}'}, "/tools"),
        ({"constraints_list": {}}, "/constraints_list"),
        ({"constraints_list": [["a", "b", "c"]] * 201}, "/constraints_list"),
        ({"check_code": {"check_constraint_4.py": "#" * 300_000}}, "/check_code/check_constraint_4.py"),
        ({"check_code": [1]}, "/check_code"),
        ({"id": ""}, "/id"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(change: dict[str, Any], pointer: str) -> None:
    found = problems(record(**change))
    assert list(found) == [pointer]
    assert found[pointer].endswith(".")


def test_an_id_that_names_no_folder_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="cannot be a folder name"):
        written(read(whole("../7")))


def test_a_dialogue_of_tasks_cannot_be_written() -> None:
    document = read_document({"kind": "multi_turn", "tasks": [{"id": "t1", "user_message": "Hi"}]})
    with pytest.raises(ValueError, match="can only represent constrained dialogues"):
        FORMATS["cctu"].write([ReadDialogue("1", "en", "", document, [])])


texts = st.dictionaries(st.sampled_from(["min_round", "b", "c"]), st.integers() | st.text(max_size=5), max_size=3)


@given(values=texts, indent=st.sampled_from([None, 0, 1, 4]), tail=st.sampled_from(["", "\n", " \n"]))
def test_marking_a_file_can_be_undone(values: dict[str, Any], indent: int | None, tail: str) -> None:
    text = json.dumps(values, indent=indent) + tail
    marked = mark("check_constraint_0.json", text, CANARY)
    assert json.loads(marked) == values | {"canary": CANARY}
    assert unmark("check_constraint_0.json", marked, CANARY) == text
    assert unmark("check_constraint_0.json", text, CANARY) == text
    assert unmark("a.py", mark("a.py", text, CANARY), CANARY) == text
    assert unmark("a.py", mark("a.py", f"\ufeff{text}", CANARY), CANARY) == f"\ufeff{text}"


def test_parameters_that_are_no_object_carry_no_canary() -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        mark("check_constraint_0.json", "[1]", CANARY)


def archive(content: dict[str, bytes]) -> list[RawRecord | RecordError]:
    return list(read_records(BytesIO(as_zip(content)), "cases.zip", format_name="cctu"))


@pytest.mark.parametrize("root", ["", "data/", "cctu/data/"])
def test_an_archive_brings_the_files_to_their_records(root: str) -> None:
    bare = record("8")
    items = archive(members(whole(), bare, root=root))
    assert [item.data for item in items if isinstance(item, RawRecord)] == [whole(), bare]
    assert len(items) == 2


@pytest.mark.parametrize(
    ("validator", "pointer"),
    [
        ({"form": "haiku"}, "/assay/constraints/0/validator/form"),
        ({"form": "words", "parameters": {"at_least": -1}}, "/assay/constraints/0/validator/at_least"),
    ],
)
def test_an_unknown_built_in_form_is_refused_at_its_place(validator: dict[str, Any], pointer: str) -> None:
    constraint = ["Response", "Content", "Say it briefly."]
    data = record(
        constraints_list=[constraint],
        check_code={"check_constraint_0.py": CODE},
        assay={"constraints": [{"validator": validator}]},
    )
    assert pointer in problems(data)


def test_files_without_a_record_are_named() -> None:
    content = members(whole()) | {"check_code/99/check_constraint_0.json": b"{}"}
    (_, error) = archive(content)
    assert isinstance(error, RecordError)
    assert (error.member, error.fatal) == ("check_code/99", False)


@pytest.mark.parametrize("none", [{}, None])
def test_a_record_that_says_that_it_has_no_files_is_read_without(none: dict[str, str] | None) -> None:
    (dialogue,) = FORMATS["cctu"].read(record(check_code=none))
    dialogue.document["constraints"][0]["parameters"] = {"min_callTimes": 1, "max_callTimes": 2}
    assert list(FORMATS["cctu"].write([dialogue])["check_code"]) == ["check_constraint_0.json"]
    beside = {"check_code/7/check_constraint_0.json": b"{}"}
    found, error = archive({"input_data.jsonl": json.dumps(record("7", check_code=none)).encode()} | beside)
    assert isinstance(found, RawRecord)
    assert isinstance(error, RecordError)
    assert (found.data["check_code"], error.member) == (none, "check_code/7")
    assert "its record has a check_code of its own" in error.message


def test_files_of_two_folders_with_one_name_are_not_mixed() -> None:
    """A training set beside a test set, both numbered from 1: a case got the other one's constraints."""
    train, test = members(whole("7"), root="train/"), members(whole("7"), whole("8"), root="test/")
    one, two, other = archive(train | test)
    assert isinstance(one, RecordError)
    assert isinstance(two, RecordError)
    assert "more than one folder check_code/7" in one.message
    assert (one.line, one.fatal, isinstance(other, RawRecord) and other.data == whole("8")) == (1, False, True)


def test_going_on_after_a_stop_finds_the_same_files() -> None:
    content = as_zip(members(whole("1"), whole("2"), whole("3")))
    items = list(read_records(BytesIO(content), "cases.zip", format_name="cctu", skip=2))
    assert [item.data["id"] for item in items if isinstance(item, RawRecord)] == ["3"]
    assert len(items) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 2_000_000])
def test_a_file_that_cannot_be_read_costs_its_own_record_alone(content: bytes) -> None:
    good = record("8")
    error, other = archive(members(whole(), good) | {"check_code/7/check_constraint_4.py": content})
    assert isinstance(error, RecordError)
    assert (error.line, error.fatal) == (1, False)
    assert "check_code/7/check_constraint_4.py is" in error.message
    assert isinstance(other, RawRecord)
    assert other.data == good


def test_every_published_constraint_comes_back_from_a_record(shared_data: Path) -> None:
    lines = (shared_data / "cctu" / "constraints.jsonl").read_text().splitlines()
    warned = 0
    for line in map(json.loads, lines):
        beside = {
            f"check_constraint_{one['index']}.json": json.dumps(one["parameters"], indent=4)
            for one in line["constraints"]
            if "parameters" in one
        }
        entries = [[*one["source_label"], one["text"]] for one in line["constraints"]]
        data = record(str(line["case_id"]), constraints_list=entries, check_code=beside)
        dialogue = read(data)
        assert written(dialogue) == data
        for mine, theirs in zip(dialogue.document["constraints"], line["constraints"], strict=True):
            # One whose label is lost was given a category by hand in the collection.
            category = None if None in theirs["source_label"] else theirs["category"]
            assert (mine["category"], mine["parameters"]) == (category, theirs.get("parameters"))
        warned += sum("cannot be judged" in one.message for one in dialogue.warnings)
    assert warned == 6


def test_paths_are_in_order() -> None:
    assert list(paths_of("7", {"b.py": "", "a.json": ""})) == ["check_code/7/a.json", "check_code/7/b.py"]


def test_a_call_of_the_trajectory_keeps_its_observation() -> None:
    document = case(reference_trajectory=[{"id": "r1", "calls": [call("s1", "find_ferry", [1, None], harbour="x")]}])
    result = FORMATS["cctu"].write([ReadDialogue("1", "en", "", document, [])])
    assert read(result).document["reference_trajectory"] == document["reference_trajectory"]


@pytest.mark.parametrize("odd", [None, 5, ["x"], {"a": "b"}])
def test_notes_of_files_that_are_no_texts_do_not_stop_a_release(odd: Any) -> None:
    dialogue = read(whole())
    plain = written(dialogue, full=True, canary=CANARY)
    notes = dialogue.document["extra"].setdefault("@native", {})
    constraint = dialogue.document["constraints"][0]["id"]
    known = value_hash(json.dumps(dialogue.document["constraints"][0]["parameters"], sort_keys=True))
    kept = {f"file:{constraint}.json": [odd, known], f"file:{constraint}.py": [odd, None]}
    notes |= {"kept": notes.get("kept", {}) | kept, "loose": {"more.txt": odd, "../x": "x", "a/b": "x"}}
    again = FORMATS["cctu"].write([dialogue], full=True, canary=CANARY)
    assert again["check_code"].keys() == plain["check_code"].keys()
    assert all(type(text) is str for text in again["check_code"].values())


@pytest.mark.parametrize("odd", [0, "", [], False, ["x"]])
def test_files_that_are_no_object_are_refused_and_not_dropped(odd: Any) -> None:
    with pytest.raises(SchemaProblem, match="must be an object of file names"):
        FORMATS["cctu"].read(whole() | {"check_code": odd})


@pytest.mark.parametrize("name", ["../x.py", "a/b.json", "", "a\nb", "x" * 101])
def test_a_file_whose_name_no_archive_can_hold_is_refused(name: str) -> None:
    with pytest.raises(SchemaProblem, match="is not a valid file name"):
        FORMATS["cctu"].read(whole() | {"check_code": {name: "x"}})
