"""What loaders and readers find in a release: tables, messages, the card, Croissant, the citation, the settings."""

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from pyarrow import parquet

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event
from annotator.services.jobs import jobs
from benchmark.core.archives import table as tables
from benchmark.core.archives.croissant import semantic_version
from benchmark.core.archives.description import Author, Description, Settings, author_lines, read_authors
from benchmark.core.archives.quoting import markdown_paragraphs, markdown_text, yaml_text
from benchmark.core.archives.table import COLUMNS, GROUP_ROWS, TableWriter, read_table
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.files.limits import Limits, SourceError
from benchmark.core.formats import FORMATS
from benchmark.core.formats.detecting import detect
from benchmark.models import Release
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.requests import archive_path
from benchmark.services.releases.runner import hand_out
from benchmark.services.releases.settings import change_settings, settings_of
from benchmark.services.stored_files import full_path, sha256_of
from reviews.services.protocols.versions import adopt_preset
from tests.benchmark.conftest import as_zip, begin_import, counters, make_verified, run_release
from tests.benchmark.formats.cctu_records import members as case_members
from tests.benchmark.formats.cctu_records import whole
from tests.factories import Team, claim_and_submit, make_document, make_team

DEFAULT = "data/default/verified.parquet"
#: Ends the front matter, a quoted text, a list or a table, unless it is escaped.
HOSTILE = '---\nlicense: mit\n"]}: *x* \\ | #!<script> `a` [b](c) \u2028 \x1b {0} \U0001f980 & yes'


def files(release: Release) -> dict[str, bytes]:
    with zipfile.ZipFile(archive_path(release)) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def front_matter(content: bytes) -> dict[str, Any]:
    front, _, _ = content.decode().removeprefix("---\n").partition("\n---\n")
    read = yaml.safe_load(front)
    assert type(read) is dict
    return read


def describe(team: Team, **changes: Any) -> None:
    change_settings(actor=team.administrator, project=team.project, **changes)


@pytest.mark.any_database
def test_tables_have_one_schema_and_the_values_of_the_documents(team: Team) -> None:
    """Of two projects that have nothing in common: dialogues of several tasks, and cases with constraints."""
    odd = make_document("2026-01-01", tasks=3)
    odd["tasks"][0]["steps"][0]["observation"] = "18 degrees"
    make_verified(team, "2026-01-01", odd)
    make_verified(team, "b", make_document("Bruges"))
    wild = files(run_release(team, native_format="wild"))

    other = make_team(annotators=4, seniors=2)
    adopt_preset(actor=other.administrator, project=other.project, preset="cctu")
    batch = begin_import(other, as_zip(case_members(whole("7"))), "cases.zip", native_format="cctu")
    jobs.run(batch.job_id)
    case = Dialogue.objects.get(project=other.project)
    for person in other.annotators:
        claim_and_submit(person, case, "approve")
    cctu = files(run_release(other, native_format="cctu"))

    for content, form, native in ((wild, "wild", "wild.jsonl"), (cctu, "cctu", "input_data.jsonl")):
        table = parquet.read_table(io.BytesIO(content[DEFAULT]))
        assert [(name, str(kind)) for name, kind in zip(table.schema.names, table.schema.types, strict=True)] == [
            (name, kind.replace("<", "<element: ")) for name, kind in COLUMNS.items()
        ]
        for row, dialogue in zip(table.to_pylist(), lines(content["dialogues.jsonl"]), strict=True):
            assert (row["id"], row["canary"]) == (dialogue["id"], dialogue["canary"])
            assert json.loads(row["document"]) == dialogue["document"]
            assert json.loads(row["tools"]) == dialogue["tools"]
        records = parquet.read_table(io.BytesIO(content[f"data/{form}/verified.parquet"])).to_pylist()
        assert [row["record"] for row in records] == content[native].decode().splitlines()
        assert [row["id"] for row in records] == [record["id"] for record in lines(content[native])]
        card = front_matter(content["README.md"])
        assert card["configs"] == [
            {"config_name": name, "data_files": [{"split": "verified", "path": f"data/{name}/verified.parquet"}]}
            for name in ("default", form, "entries")
        ] + [
            {
                "config_name": "challenges",
                "data_files": [
                    {"split": split, "path": f"data/challenges/{split}.parquet"}
                    for split in ("history_answers", "history_calls")
                ],
            }
            for _ in range(form == "wild")
        ]
    first, _ = parquet.read_table(io.BytesIO(wild[DEFAULT])).to_pylist()
    assert (first["kind"], first["tasks"], first["calls"]) == ("multi_turn", 3, 1)
    assert (first["policies"], first["topologies"]) == (["single_tool", "chat", "chat"], ["single", None, None])
    (row,) = parquet.read_table(io.BytesIO(cctu[DEFAULT])).to_pylist()
    assert (row["kind"], row["tasks"], row["policies"]) == ("constrained", 1, [])
    # A case cannot be written as messages.
    assert "openai.jsonl" not in cctu
    assert b"1 dialogue cannot be written as messages of the OpenAI chat API" in cctu["README.md"]


def test_messages_import_again_and_are_no_second_copy(team: Team) -> None:
    for name in ("a", "b"):
        make_verified(team, name, make_document(name, tasks=2))
    release = run_release(team, native_format="wild")
    content = files(release)
    for record, dialogue in zip(lines(content["openai.jsonl"]), lines(content["dialogues.jsonl"]), strict=True):
        (read,) = FORMATS["openai"].read(record)
        messages = [task["user_message"] for task in dialogue["document"]["tasks"]]
        assert [task["user_message"] for task in read.document["tasks"]] == messages
    other = make_team()
    options = {"project": other.project, "actor": other.administrator, "native_format": "openai"}
    batch = begin_import(other, archive_path(release).read_bytes(), "release.zip", **options)
    jobs.run(batch.job_id)
    batch.refresh_from_db()
    assert counters(batch)[:2] == (2, 2)

    native = files(run_release(team, "2.0", native_format="openai"))
    assert [name for name in native if name.endswith(".jsonl")] == [
        "openai.jsonl", "dialogues.jsonl", "items.jsonl", "entries.jsonl", "errata.jsonl",
    ]  # fmt: skip


def test_what_people_typed_stays_text_in_every_file(team: Team, tmp_path: Path) -> None:
    team.project.name, team.project.description = HOSTILE[:120], HOSTILE
    team.project.save()
    authors = (Author('O"Neil: #, Ann', "0000-0002-1825-0097", "Univ: [x]"), Author("team and friends"))
    describe(
        team, licence="own", licence_text=HOSTILE, authors=author_lines(authors), limits=f"1. {HOSTILE}\n\n- end",
        demographics="# Ten people",
    )  # fmt: skip
    make_verified(team, "a")
    release = run_release(team, "2026-05_a", native_format="c3")
    content = files(release)

    card, text = front_matter(content["README.md"]), content["README.md"].decode()
    assert card["pretty_name"] == f"{HOSTILE[:120]} 2026-05_a"
    assert (card["license"], card["license_name"], card["license_link"]) == ("other", team.project.slug, "LICENSE")
    assert card["authors"][0] == {"name": 'Ann O"Neil: #', "orcid": "0000-0002-1825-0097", "affiliation": "Univ: [x]"}
    assert 'author = {O"Neil: \\#, Ann and {team and friends}}' in card["citation"]
    # No line of a typed text has a meaning of its own.
    assert [line for line in text.splitlines() if line.startswith("# ")] == [text.split("\n\n")[1].splitlines()[0]]
    body = [line for line in text.partition("\n---\n")[2].splitlines() if not line.startswith("    ")]
    assert "<script>" not in "\n".join(body).replace("\\<script\\>", "")
    assert "\n1\\. \\-" not in text
    assert "\n1\\. ---" in text
    assert "\n\\# Ten people\n" in text
    assert text.count("\n---\n") == 1
    citation = yaml.safe_load(content["CITATION.cff"])
    assert citation["authors"] == [
        {"family-names": 'O"Neil: #', "given-names": "Ann", "orcid": "https://orcid.org/0000-0002-1825-0097",
         "affiliation": "Univ: [x]"},
        {"family-names": "team and friends"},
    ]  # fmt: skip
    assert (citation["version"], citation["type"], "license" in citation) == ("2026-05_a", "dataset", False)
    croissant = json.loads(content["croissant.json"])
    assert croissant["version"] == "0.0.0+2026-05-a"
    assert croissant["rai:annotatorDemographics"] == ["# Ten people"]
    for file in croissant["distribution"]:
        assert file["sha256"] == hashlib.sha256(content[file["contentUrl"]]).hexdigest()
    assert content["LICENSE"].decode().splitlines()[:2] == ["---", "license: mit"]
    assert content["errata.jsonl"] == b""

    build_archive(release, tmp_path / "again.zip")
    assert sha256_of(tmp_path / "again.zip") == release.sha256
    report = verify_archive(archive_path(release))
    assert report.problems == []
    assert release.canary.encode() in content["croissant.json"]


def test_a_release_keeps_the_settings_of_its_day(team: Team, client: Client, tmp_path: Path) -> None:
    make_verified(team, "a")
    first = run_release(team)
    assert b"**No licence.**" in files(first)["README.md"]
    assert "license" not in front_matter(files(first)["README.md"])
    describe(team, licence="CC-BY-4.0", citation="@misc{x}", limits="Short.")
    second = run_release(team, "2.0")
    card = files(second)["README.md"]
    assert front_matter(card) | {"license": "cc-by-4.0", "citation": "@misc{x}"} == front_matter(card)
    assert b"## Limits\n\nShort." in card
    assert yaml.safe_load(files(second)["CITATION.cff"])["license"] == "CC-BY-4.0"
    for release in (first, second):
        build_archive(release, tmp_path / "again.zip")
        assert sha256_of(tmp_path / "again.zip") == release.sha256

    client.force_login(team.administrator)
    for release, said in ((first, True), (second, False)):
        page = client.get(f"/p/{team.project.slug}/releases/{release.public_id}/").content.decode()
        assert ("This release has no licence" in page) is said


def test_a_release_of_an_earlier_version_is_not_built_in_another_shape(team: Team, tmp_path: Path) -> None:
    make_verified(team, "a")
    release = run_release(team)
    for name in ("layout", "settings"):
        del release.frozen[name]
    release.save()
    hand_out(release, tmp_path / "kept.zip")
    assert sha256_of(tmp_path / "kept.zip") == release.sha256, "the stored archive is still handed out"
    full_path(release.archive).unlink()
    with pytest.raises(Invalid, match="Restore its archive from a backup"):
        hand_out(release, tmp_path / "again.zip")
    with pytest.raises(Conflict, match="must restore it from a backup"):
        archive_path(release)


def test_administrators_change_the_settings_on_a_page(team: Team, client: Client) -> None:
    address = f"/p/{team.project.slug}/releases/settings/"
    client.force_login(team.administrator)
    typed = {"licence": "own", "authors": "Ann\n; nothing", "seen": "0"}
    for field, words in (
        ("licence_text", "Enter the text of the licence"),
        ("authors", "Line 2 begins without a name"),
    ):
        refused = client.post(address, typed)
        assert (refused.status_code, words in refused.content.decode()) == (422, True)
        typed |= {field: "Do as you like."}
    typed |= {"authors": "Ann; 0000-0002-1825-0097; Univ"}
    assert client.post(address, typed).status_code == 302
    found = settings_of(team.project)
    assert found.authors == (Author("Ann", "0000-0002-1825-0097", "Univ"),)
    assert "Ann; 0000-0002-1825-0097; Univ" in client.get(address).content.decode()
    assert Event.objects.filter(project=team.project, kind="release_settings.changed").count() == 1

    # Somebody else starts from the settings before.
    late = client.post(address, typed | {"limits": "Late"})
    assert (late.status_code, "Somebody else changed these settings" in late.content.decode()) == (422, True)
    seen = re.search(r'name="seen" value="(\d+)"', late.content.decode())
    assert seen is not None
    assert client.post(address, typed | {"limits": "Late", "seen": seen[1]}).status_code == 302
    assert settings_of(team.project).limits == "Late"
    with pytest.raises(Denied):
        change_settings(actor=team.annotator, project=team.project)


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("Lovelace, Ada; 0000-0002-1825-0097; A; B", ("Lovelace, Ada", "0000-0002-1825-0097", "A; B")),
        ("Ada;https://orcid.org/0000-0002-1694-233x", ("Ada", "0000-0002-1694-233X", "")),
        ("  Ada   Lovelace ; London ", ("Ada Lovelace", "", "London")),
    ],
)  # fmt: skip
def test_authors_are_read_line_by_line(line: str, author: tuple[str, str, str]) -> None:
    assert read_authors(f"\n{line}\n") == (Author(*author),)
    assert read_authors(author_lines([Author(*author)])) == (Author(*author),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A\n,;x", "Line 2 begins without a name"),
        ("A; 0000-0002-1825-0098", "its last digit is wrong"),
        ("x" * 201, "A name or affiliation may have 200 characters"),
        ("A\u200bB", "invisible characters"),
        ("A\n" * 201, "There are 201 authors. The limit is 200"),
    ],
)
def test_authors_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_authors(text)


def test_a_citation_is_made_of_what_is_known() -> None:
    settings = Settings(authors=(Author("Lovelace, Ada"), Author("R&D and more")))
    made = Description("A_b {c}", "a-b", "", "1.0", "2026-05-01", "canary", settings).citation
    assert made == (
        "@misc{a-b-1.0,\n  title = {{A\\_b \\{c\\}, release 1.0}},\n"
        "  author = {Lovelace, Ada and {R\\&D and more}},\n  year = {2026},\n}"
    )


def test_texts_are_quoted() -> None:
    assert yaml.safe_load(yaml_text(HOSTILE)) == HOSTILE
    assert "\n" not in yaml_text(HOSTILE)
    assert markdown_text("- a *b*\n# c") == "\\- a \\*b\\* \\# c"
    assert [markdown_text(text) for text in ("1. a", "--- ", "=", "1.5 m", "a-b")] == [
        "1\\. a", "\\---", "\\=", "1\\.5 m", "a-b",
    ]  # fmt: skip
    assert markdown_paragraphs("a\nb\n \n# c\n\n\n") == "a b\n\n\\# c"


@pytest.mark.parametrize(
    ("version", "semantic"),
    [("1", "1"), ("1.0", "1.0"), ("1.2.3-rc.1", "1.2.3-rc.1"), ("01.2", "0.0.0+01.2"), ("v_1..2", "0.0.0+v-1.2")],
)
def test_versions_of_any_form_become_semantic_ones(version: str, semantic: str) -> None:
    assert semantic_version(version) == semantic


def test_row_groups_are_bounded_and_others_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def table() -> bytes:
        pieces: list[bytes] = []
        writer = TableWriter("wild", pieces.append)
        for number in range(GROUP_ROWS + 5):
            writer.add({"id": str(number), "record": "{}"})
        for number in range(3):
            writer.add({"id": f"long{number}", "record": "x" * tables.GROUP_BYTES})
        writer.close()
        return b"".join(pieces)

    content = table()
    assert content == table()
    metadata = parquet.ParquetFile(io.BytesIO(content)).metadata
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [GROUP_ROWS, 6, 1, 1]
    assert len(list(read_table("wild", io.BytesIO(content), Limits()))) == GROUP_ROWS + 8
    with pytest.raises(SourceError, match="more than 9 rows"):
        list(read_table("wild", io.BytesIO(content), Limits(records=9)))
    monkeypatch.setattr(tables, "GROUP_ROWS", 10)
    with pytest.raises(SourceError, match="row group 1 is larger"):
        list(read_table("wild", io.BytesIO(content), Limits()))
    monkeypatch.undo()

    # A dictionary holds a text once, and rows repeat it: a small file could fill the memory.
    bomb = io.BytesIO()
    schema = parquet.read_schema(io.BytesIO(content))
    parquet.write_table(schema.empty_table().from_pylist([{"id": "x", "record": "y"}] * 9, schema), bomb)
    with pytest.raises(SourceError, match="packed otherwise"):
        list(read_table("wild", bomb, Limits()))


@pytest.mark.parametrize("native_format", ["neutral", "wild"])
def test_an_import_without_a_format_takes_the_complete_documents(team: Team, native_format: str) -> None:
    make_verified(team, "a")
    release = run_release(team, native_format=native_format)
    with archive_path(release).open("rb") as archive:
        assert detect(archive, "release.zip").format == "neutral"
