"""The envelope of Assay's own documents."""

from typing import Any

import pytest

from annotator.core.schema import canonical
from benchmark.core.formats import FORMATS
from tests.benchmark.formats.format_records import WEATHER, problems_of, read, same, wild_record


def record(**changes: Any) -> dict[str, Any]:
    (dialogue,) = read("wild", wild_record())
    document = dialogue.document
    task = document["tasks"][1]
    task["candidate_messages"] = [{"id": "m1", "text": "And in Oslo?", "extra": {}}]
    task["chosen"] = "m1"
    task["steps"][2]["depends_on"][1]["kind"] = "logical"
    task["steps"][0]["inferable"] = {"/city": "the capital"}
    return {**FORMATS["neutral"].write([dialogue]), **changes}


def test_the_envelope() -> None:
    assert {key: value for key, value in record().items() if key != "document"} == {
        "assay": 1,
        "id": "wild_tool_bench_7",
        "language": "en",
        "variant_group": "",
        "tools": [WEATHER],
    }


def test_nothing_is_lost() -> None:
    (dialogue,) = FORMATS["neutral"].read(record())
    assert canonical(dialogue.document) == canonical(record()["document"]) == dialogue.text
    assert same(FORMATS["neutral"].write([dialogue]), record())


def test_a_bare_envelope_is_enough() -> None:
    document = {"kind": "multi_turn", "tasks": [{"id": "t1", "user_message": "Hello"}]}
    (dialogue,) = FORMATS["neutral"].read({"id": "x", "document": document})
    assert (dialogue.external_id, dialogue.language, dialogue.variant_group) == ("x", "", "")
    assert dialogue.document["tasks"][0]["steps"] == []
    assert [warning.pointer for warning in dialogue.warnings] == ["/tools"]


def test_unknown_fields_of_the_envelope_are_kept() -> None:
    (dialogue,) = FORMATS["neutral"].read(record(batch=3, note=None))
    written = FORMATS["neutral"].write([dialogue])
    assert (written["batch"], written["note"]) == (3, None)
    assert FORMATS["neutral"].read(written) == [dialogue]


def test_a_record_holds_one_dialogue() -> None:
    (dialogue,) = FORMATS["neutral"].read(record())
    with pytest.raises(ValueError, match="one by one"):
        FORMATS["neutral"].write([dialogue, dialogue])


@pytest.mark.parametrize(
    ("broken", "pointer", "words"),
    [
        (record(assay=2), "/assay", "version 1"),
        (record(assay="one"), "/assay", "version 1"),
        (record(id=3.5), "/id", "must be text"),
        (record(variant_group=[1]), "/variant_group", "text"),
        (record(tools={}), "/tools", "list of functions"),
        (record(tools=["x"]), "/tools", "list of functions"),
        (record(language="zh"), "/language", "which is en"),
        (record(document={"kind": "song"}), "/document/kind", "multi_turn"),
        (record(document=None), "/document", "JSON object"),
        (record(document={"kind": "multi_turn", "tasks": []}), "/document/tasks", "at least 1"),
        (
            record(document={"kind": "multi_turn", "tasks": [{"id": "t1"}]}),
            "/document/tasks/0/user_message",
            "required",
        ),
        (record(note="a\0"), "/note", "NUL"),
    ],
)
def test_faults_have_a_place_and_a_sentence(broken: dict[str, Any], pointer: str, words: str) -> None:
    assert words in problems_of("neutral", broken)[pointer]
