"""A file of an unknown format: what Assay makes of it, what a person corrects, and what it remembers."""

import io
import json
from typing import Any

import pytest
from django.test import Client

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue
from annotator.services.jobs.jobs import run
from benchmark.core.formats.detecting import detect, sample
from benchmark.core.formats.examples import example_file
from benchmark.core.formats.mapping import apply_mapping, pointer_in_file, read_mapping
from benchmark.models import ImportBatch, ImportMapping
from benchmark.services.imports.recognising import confirm_preview
from benchmark.services.imports.requests import list_imports
from tests.api_client import ApiClient, refusal
from tests.benchmark.conftest import begin_import, counters, fresh, report_of
from tests.factories import Team

PAIRS = [
    {"uuid": "q1", "instruction": "Say hello in Dutch.", "output": "Hallo!", "topic": "greetings"},
    {"uuid": "q2", "instruction": "Add 2 and 2.", "output": "4", "topic": "sums"},
]
ANSWERED = {"role": "assistant", "content": "Yes."}
CHATS = [
    {"number": f"d{n}", "turns": json.dumps([{"role": "user", "content": f"Question {n}"}, ANSWERED])} for n in range(5)
]


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def preview(team: Team, content: bytes, filename: str = "a.jsonl", **options: Any) -> ImportBatch:
    batch = begin_import(team, content, filename, native_format="", preview=True, **options)
    run(batch.job_id)
    return fresh(batch)


def confirm(team: Team, batch: ImportBatch, **options: Any) -> ImportBatch:
    found = batch.job.result
    options = {"native_format": found["format"], "mapping": found["mapping"]} | options
    started = confirm_preview(actor=team.administrator, batch=batch, **options)
    run(started.job_id)
    return fresh(started)


def test_a_preview_shows_the_first_dialogues_and_saves_nothing(team: Team) -> None:
    batch = preview(team, example_file("sharegpt"))
    found = batch.job.result
    assert (batch.job.state, found["format"], found["mapping"], found["saved"]) == ("done", "sharegpt", {}, False)
    assert [one["external_id"] for one in found["dialogues"]] == ["trains-1", "greeting-2"]
    assert found["dialogues"][0]["tools"] == ["find_train", "book_seat"]
    assert [step["name"] for step in found["dialogues"][0]["document"]["tasks"][0]["steps"][:2]] == ["find_train"] * 2
    assert [name for name, _ in found["columns"]] == ["id", "conversations", "tools", "source"]
    assert (found["kept"], found["records"], found["refused"], found["problems"]) == (["source"], 2, 0, [])
    assert not Dialogue.objects.exists()
    assert list(list_imports(actor=team.administrator, project=team.project)) == []


def test_fields_with_other_names_are_mapped_and_remembered(team: Team) -> None:
    batch = preview(team, lines(PAIRS))
    assert batch.job.result["format"] == "openai"
    assert batch.job.result["mapping"] == {"user": "instruction", "assistant": "output", "id": "uuid"}
    done = confirm(team, batch, mapping={"user": "instruction", "assistant": "output"})
    assert counters(done) == (2, 2, 0, 0, 0, 0)
    dialogue = Dialogue.objects.order_by("pk").first()
    assert dialogue is not None
    assert dialogue.head is not None
    assert dialogue.external_id.startswith("openai-")
    document = dialogue.head.document()
    (task,) = document["tasks"]
    assert (task["user_message"], task["steps"][0]["text"]) == ("Say hello in Dutch.", "Hallo!")
    assert (document["extra"]["uuid"], document["extra"]["topic"]) == ("q1", "greetings")

    again = preview(team, lines(PAIRS[1:]))
    assert (again.job.result["saved"], again.job.result["mapping"]) == (True, done.mapping)
    # An import without a format uses it as well.
    automatic = begin_import(team, lines(PAIRS), native_format="")
    run(automatic.job_id)
    assert (fresh(automatic).native_format, fresh(automatic).mapping) == ("openai", done.mapping)
    assert counters(fresh(automatic)) == (2, 0, 0, 2, 0, 0)
    confirm(team, again, remember=False)
    assert not ImportMapping.objects.exists()


def test_a_person_corrects_the_fields_and_looks_again(team: Team) -> None:
    batch = preview(team, lines(CHATS))
    assert batch.job.result["mapping"] == {"messages": "turns"}
    with pytest.raises(Invalid, match="no role 'title'"):
        confirm(team, batch, mapping={"title": "number"})
    second = confirm(team, batch, mapping={"messages": "turns", "id": "number"}, preview=True)
    assert (second.preview, second.job.result["mapping"]) == (True, {"messages": "turns", "id": "number"})
    assert [one["external_id"] for one in second.job.result["dialogues"]] == ["d0", "d1", "d2"]
    done = confirm(team, second, dry_run=True)
    assert (done.dry_run, counters(done)) == (True, (5, 5, 0, 0, 0, 0))
    with pytest.raises(Conflict):
        confirm_preview(actor=team.administrator, batch=done, native_format="openai", mapping={})


def test_a_program_looks_again_and_imports_a_dry_run_for_real(team: Team) -> None:
    base = f"/api/projects/{team.project.slug}/imports/"
    program = ApiClient(team.administrator, scopes=["import"])
    batch = preview(team, lines(CHATS))
    wanted = {"format": "openai", "mapping": {"messages": "turns", "id": "number"}}
    again = program.send(f"{base}{batch.public_id}/confirm/", wanted | {"preview": True}).json()
    second = ImportBatch.objects.get(public_id=again["public_id"])
    run(second.job_id)
    assert [one["external_id"] for one in fresh(second).job.result["dialogues"]] == ["d0", "d1", "d2"]
    dry = program.send(f"{base}{second.public_id}/confirm/", wanted | {"dry_run": True}).json()
    path = f"{base}{dry['public_id']}/repeat/"
    assert refusal(program.send(path)) == (409, "conflict")
    run(ImportBatch.objects.get(public_id=dry["public_id"]).job_id)
    assert not Dialogue.objects.exists()
    assert refusal(program.send(path, {"reopen": "yes"}))[0] == 400
    assert refusal(ApiClient(team.seniors[0]).send(path))[0] == 403
    real = program.send(path)
    assert (real.status_code, real.json()["dry_run"]) == (202, False)
    run(ImportBatch.objects.get(public_id=real.json()["public_id"]).job_id)
    assert Dialogue.objects.count() == 5


@pytest.mark.parametrize(
    ("content", "filename", "words"),
    [
        (b"%PDF-1.7", "a.jsonl", "a PDF document"),
        (b"", "a.jsonl", "The file is empty."),
        (b"hello\nworld\n", "a.jsonl", "line 1"),
        (b"PK\x03\x04", "a.zip", "cut off"),
    ],
)
def test_a_file_without_records_says_why(team: Team, content: bytes, filename: str, words: str) -> None:
    batch = preview(team, content, filename)
    assert batch.job.state == "failed"
    assert words in batch.job.error


def test_an_unknown_format_is_not_imported_on_a_guess(team: Team) -> None:
    batch = preview(team, lines([{"a": 1}, {"a": 2}]))
    assert (batch.job.state, batch.job.result["format"], batch.job.result["dialogues"]) == ("done", "", [])
    automatic = begin_import(team, lines([{"a": 1}]), native_format="")
    run(automatic.job_id)
    assert "doesn’t recognise" in fresh(automatic).job.error
    with pytest.raises(Invalid, match="Choose the format"):
        begin_import(team, lines(PAIRS), native_format="", mapping={"user": "instruction"})


def test_the_page_leads_from_the_file_to_the_import(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    url = f"/p/{team.project.slug}/imports/"
    with_file = {"file": _upload(lines(PAIRS), "pairs.jsonl"), "native_format": "", "dry_run": "on"}
    answer = client.post(url, with_file)
    batch = ImportBatch.objects.get()
    page = f"{url}{batch.public_id}/preview/"
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert "preview-state" in client.get(page).content.decode()
    assert client.post(page).status_code == 409
    run(batch.job_id)
    html = client.get(f"{page}?record=2").content.decode()
    assert "Add 2 and 2." in html
    assert "Kept with the record, not shown" in html
    assert client.get(f"{page}?record=9").status_code == 400
    chosen = {"native_format": "openai", "role_user": "instruction", "role_assistant": "output", "role_id": "uuid"}
    assert client.post(page, chosen | {"role_id": "nowhere"}).status_code == 422
    assert client.post(page, chosen | {"reopen": "on"}).status_code == 422
    answer = client.post(page, chosen | {"remember": "on"})
    started = ImportBatch.objects.get(preview=False)
    assert answer.headers["Location"] == f"{url}{started.public_id}/"
    assert (started.mapping, started.dry_run) == (
        {"user": "instruction", "assistant": "output", "id": "uuid"}, False,
    )  # fmt: skip
    assert client.get(f"{url}{batch.public_id}/").headers["Location"] == page
    assert client.get(f"{url}{started.public_id}/preview/").status_code == 302
    assert "pairs.jsonl" in client.get(url).content.decode()


def test_a_program_previews_confirms_and_corrects(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    url = f"/api/projects/{team.project.slug}/imports/"
    begun = client.post(url, {"file": _upload(lines(PAIRS), "pairs.jsonl"), "preview": "true"})
    assert begun.status_code == 202
    one = f"{url}{begun.json()['public_id']}/"
    body = {"format": "openai", "mapping": {"user": "instruction", "id": "uuid"}}
    assert client.post(f"{one}confirm/", body, content_type="application/json").status_code == 409
    run(ImportBatch.objects.get().job_id)
    found = client.get(one).json()["found"]
    assert (found["format"], found["records"]) == ("openai", 2)
    for wrong, code in (
        ({"format": "openai", "mapping": {"title": "topic"}}, 422),
        ({"format": "openai", "mapping": 3}, 422),
        ({"format": "nonsense"}, 400),
        ({"mapping": {}}, 400),
        ({"format": "openai", "file": "x"}, 400),
    ):
        answer = client.post(f"{one}confirm/", wrong, content_type="application/json")
        assert answer.status_code == code, (wrong, answer.content)
    started = client.post(f"{one}confirm/", body, content_type="application/json").json()
    assert (started["preview"], started["found"], started["mapping"]) == (False, None, body["mapping"])
    run(ImportBatch.objects.get(public_id=started["public_id"]).job_id)
    assert set(Dialogue.objects.values_list("external_id", flat=True)) == {"q1", "q2"}
    assert not ImportMapping.objects.exists()


@pytest.mark.parametrize(
    ("record", "mapping", "expected"),
    [
        ({"id": 7, "uuid": "a", "m": []}, {"id": "uuid", "messages": "m"}, {"id": "a", "messages": [], "record_id": 7}),
        ({"id": 7, "messages": []}, {"id": ""}, {"record_id": 7, "messages": []}),
        (
            {"messages": [1], "q": "Hi", "record_messages": 2},
            {"messages": "", "user": "q"},
            {"messages": [{"role": "user", "content": "Hi"}], "record_messages": 2, "record_messages_": [1]},
        ),
        ({"q": [1, 2], "a": ""}, {"user": "q", "assistant": "a"}, {"messages": [{"role": "user", "content": "[1,2]"}]}),
        ({"x": 1}, {"id": "uuid"}, {"x": 1}),
    ],
)
def test_a_mapping_loses_no_field(record: Any, mapping: Any, expected: Any) -> None:
    assert apply_mapping(record, mapping, "openai") == expected


@pytest.mark.parametrize(
    ("pointer", "mapping", "format_name", "expected"),
    [
        ("/messages/0/role", {}, "openai", "/messages/0/role"),
        ("/messages/0/role", {"messages": "a/b", "id": "uuid"}, "openai", "/a~1b/0/role"),
        ("/id", {"id": "uuid"}, "openai", "/uuid"),
        ("/conversations", {"messages": "talk"}, "sharegpt", "/talk"),
        # There is no system prompt, so the second message is the answer.
        ("/messages/1/content", {"system": "s", "user": "q", "assistant": "a"}, "openai", "/a"),
        ("/messages", {"user": "q"}, "openai", "/q"),
        ("", {"user": "q"}, "openai", ""),
    ],
)
def test_a_problem_of_a_mapped_record_is_where_the_file_has_it(
    pointer: str, mapping: dict[str, str], format_name: str, expected: str
) -> None:
    assert pointer_in_file(pointer, {"q": "Hi", "a": "Yes", "s": ""}, mapping, format_name) == expected


def test_the_report_says_where_in_a_list_on_one_line_a_problem_is(team: Team) -> None:
    good, bad = {"id": "a", "talk": [{"role": "user", "content": "Hi"}]}, {"id": "b", "talk": [{"role": 3}]}
    content = json.dumps([good, bad]).encode()
    mapping = {"messages": "talk"}
    batch = begin_import(team, content, "a.json", native_format="openai", mapping=mapping)
    run(batch.job_id)
    unread = [entry for entry in report_of(batch) if entry["check"] == "import.unreadable"]
    assert [(entry["id"], entry["pointer"]) for entry in unread] == [("b", "/1/talk/0/role"), ("b", "/1/talk")]
    [(_, _, place, _)] = sample(io.BytesIO(content), "a.json", "openai", mapping).problems
    assert place == "/1/talk/0/role"


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"id": "a", "tools": "a"}, "Two roles have the same field"),
        ({"messages": "a", "user": "b"}, "not both"),
        ({"assistant": "a"}, "needs a field for the user"),
        ({"user": ""}, "Leave out user"),
        ({"id": 3}, "must be a name"),
        ([], "must be an object"),
    ],
)
def test_a_mapping_that_does_not_fit_says_why(mapping: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_mapping(mapping, "openai")


def test_recognising_a_file_of_huge_records_reads_few_of_them() -> None:
    read = 0

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            content = super().read(size)
            read += len(content)
            return content

    record = {"id": "a", "messages": [{"role": "user", "content": "x" * (1 << 20)}], "k" * 300: 1}
    found = detect(Counted(lines([record]) * 60), "a.jsonl")
    assert (found.format, list(found.columns)) == ("openai", ["id", "messages"])
    assert read < 20 << 20


def test_what_a_preview_stores_is_bounded(team: Team) -> None:
    tools = [{"name": "t" * 5_000, "parameters": {}}]
    record = {"messages": [{"role": "user", "content": "x"}], "tools": tools} | {f"k{n}": n for n in range(5_000)}
    found = preview(team, lines([record])).job.result
    assert len(found["kept"]) == len(found["columns"]) == 200
    assert len(found["dialogues"][0]["tools"][0]) == 200


def test_a_choice_is_remembered_for_the_format_that_is_recognised_and_once_it_has_worked(team: Team) -> None:
    pairs = [{"id": "a", "messages": [{"role": "user", "content": "x"}]}]
    confirm(team, preview(team, lines(pairs)), native_format="wild")
    assert not ImportMapping.objects.exists()
    confirm(team, preview(team, lines(pairs)))
    blocks = [{"id": "b", "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]}]
    assert preview(team, lines(pairs)).job.result["saved"] is True
    found = preview(team, lines(blocks)).job.result
    assert (found["format"], found["saved"]) == ("anthropic", False)


def test_another_format_is_shown_before_it_is_imported(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    batch = preview(team, lines(PAIRS))
    page = f"/p/{team.project.slug}/imports/{batch.public_id}/preview/"
    answer = client.post(page, {"native_format": "sharegpt", "role_user": "instruction"})
    assert answer.headers["Location"].endswith("/preview/")
    assert ImportBatch.objects.latest("pk").preview


def _upload(content: bytes, name: str) -> Any:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile(name, content)
