"""Two releases compared: every category of change, the fitting version, archives in any order, and hostile ones."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison import diff
from annotator.core.schema import read_document
from benchmark.core.archives.change_categories import categorise
from benchmark.core.archives.dialogue_changes import Content, Limits, describe_dialogue, examine, reviews_behind
from benchmark.core.archives.difference import write_json
from benchmark.core.archives.differing import compare_archives
from benchmark.core.archives.next_version import Counts, Level, next_version, suggest
from benchmark.core.archives.readable_difference import write_html
from benchmark.core.files.limits import SourceError
from benchmark.management.commands.diff_releases import Command
from tests.benchmark.archives.release_archives import hash_of, released, write_release
from tests.factories import WEATHER_TOOLS, changed, make_document

Document = dict[str, Any]
Edit = Callable[[Any], object]

TASKS = make_document("a", tasks=2)
CASE: Document = read_document(
    {
        "kind": "constrained",
        "user_query": "Find a train.",
        "system_prompt": "Be brief.",
        "constraints": [{"id": "c1", "category": "length", "text": "At most 10 words."}],
        "reference_trajectory": [
            {"id": "r1", "calls": [{"id": "s1", "name": "find_trains", "arguments": {"to": "Ghent"}}]},
            {"id": "r2", "final": "At 9:05."},
        ],
        "tool_codes": {"find_trains": "def find_trains(): ..."},
    }
)
COMPOSITE: Document = read_document(
    {
        "kind": "composite",
        "composition": "cross",
        "max_rounds": 12,
        "tasks": [{"id": f"t{n}", "user_message": f"Ask {n}.", "single": f"one-{n}"} for n in (1, 2)],
    }
)
SINGLE: Document = read_document(
    {
        "kind": "single_task",
        "category": "mail",
        "initial_state": {"inbox": []},
        "tasks": [{"id": "t1", "user_message": "Write.", "steps": [{"id": "s1", "type": "call", "name": "send",
                                                                    "arguments": {"to": "Ann"}}]}],
    }
)  # fmt: skip


def task(document: Document) -> Any:
    return document["tasks"][0]


def call(document: Document) -> Any:
    return document["tasks"][0]["steps"][0]


#: Document, edit, category, whether the reference changed, place.
EDITS: list[tuple[Document, Edit, str, bool, str]] = [
    (TASKS, lambda d: task(d).update(user_message="Hi."), "user_message", True, "task 1, user message"),
    (TASKS, lambda d: d["tasks"].pop(), "user_message", True, "task 2"),
    (TASKS, lambda d: d["tasks"].reverse(), "user_message", True, "order of tasks"),
    (TASKS, lambda d: task(d).update(policy="multi_tool"), "label", True, "task 1, policy"),
    (TASKS, lambda d: task(d)["steps"][1].update(answer_type="chat"), "label", True, "task 1, answer s1, answer type"),
    (TASKS, lambda d: d.update(language=None), "label", True, "language"),
    (TASKS, lambda d: task(d)["steps"][1].update(depends_on=[]), "dependency", True, "task 1, answer s1, dependencies"),
    (TASKS, lambda d: call(d).update(name="find_trains"), "call", True, "task 1, call s0 find_trains, tool"),
    (TASKS, lambda d: task(d)["steps"].reverse(), "call", True, "task 1, order of steps"),
    (TASKS, lambda d: task(d)["steps"].pop(0), "call", True, "task 1, call s0 get_weather"),
    (TASKS, lambda d: call(d)["arguments"].update(city="Bruges"), "argument", True,
     "task 1, call s0 get_weather, argument city"),
    (TASKS, lambda d: call(d)["observation"].update(degrees=19), "observation", True,
     "task 1, call s0 get_weather, observation degrees"),
    (TASKS, lambda d: task(d)["steps"][1].update(text="Sunny."), "answer", True, "task 1, answer s1, text"),
    (TASKS, lambda d: task(d)["steps"].pop(1), "answer", True, "task 1, answer s1"),
    (TASKS, lambda d: d.update(env_info="2026-01-01"), "other", True, "environment information"),
    (TASKS, lambda d: d["extra"].update(source="web"), "other", False, "extra field source"),
    (TASKS, lambda d: call(d)["inferable"].update({"/city": "said"}), "other", False,
     "task 1, call s0 get_weather, reason why city is inferable"),
    (TASKS, lambda d: task(d)["candidate_messages"].append({"id": "m1", "text": "Hi.", "extra": {}}), "other", False,
     "task 1, candidate message m1"),
    (CASE, lambda d: d.update(user_query="Find a bus."), "user_message", True, "query"),
    (CASE, lambda d: d.update(system_prompt="Be long."), "other", True, "system prompt"),
    (CASE, lambda d: d["constraints"].clear(), "constraint", True, "constraint 1 (length)"),
    (CASE, lambda d: d["constraints"][0].update(text="Short."), "constraint", True, "constraint 1 (length), text"),
    (CASE, lambda d: d["constraints"][0]["extra"].update(a=1), "other", False, "constraint 1 (length), extra field a"),
    (CASE, lambda d: d["reference_trajectory"].pop(0), "call", True, "round 1"),
    (CASE, lambda d: d["reference_trajectory"][0]["calls"][0]["arguments"].update(to="Gent"), "argument", True,
     "round 1, call s1 find_trains, argument to"),
    (CASE, lambda d: d["reference_trajectory"][1].update(final="At ten."), "answer", True, "round 2, final response"),
    (CASE, lambda d: d.update(tool_codes={}), "tools", True, "code of the tool find_trains"),
    (COMPOSITE, lambda d: task(d).update(single="one-3"), "call", True, "task 1, single"),
    (COMPOSITE, lambda d: task(d).update(sha256="a" * 64), "other", False, "task 1, sha256"),
    (COMPOSITE, lambda d: d.update(max_rounds=13), "other", True, "max rounds"),
    (COMPOSITE, lambda d: d.update(composition="similar"), "label", True, "composition"),
    (SINGLE, lambda d: d.update(initial_state={"inbox": [1]}), "other", True, "initial state inbox"),
    (SINGLE, lambda d: call(d)["arguments"].update(to="Bob"), "argument", True, "task 1, call s1 send, argument to"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "edit", "category", "reference", "place"), EDITS)
def test_each_change_has_a_category_and_a_place_in_words(
    document: Document, edit: Edit, category: str, reference: bool, place: str
) -> None:
    after = deepcopy(document)
    edit(after)
    found = describe_dialogue("d", Content(document, {}), Content(after, {}), [])
    assert [(one["category"], one["reference"], one["place"]) for one in found["changes"]] == [
        (category, reference, place)
    ]
    assert (found["categories"], found["reference"], found["total"]) == ([category], reference, 1)
    assert examine(Content(document, {}), Content(after, {})) == ([category], reference)


def test_another_kind_of_document_is_one_change_of_the_reference() -> None:
    (change,) = diff(CASE, TASKS)
    assert categorise(change) == ("other", True)


def test_tools_are_compared_one_by_one() -> None:
    before = {"tools": deepcopy(WEATHER_TOOLS[:2])}
    after = deepcopy(before)
    after["tools"][0]["function"]["parameters"]["properties"]["city"]["description"] = "The city."
    del after["tools"][1]
    after["tools"].append({"name": "bare", "parameters": None})
    after |= {"implementation": {"source": "x = 1", "class": None, "load": None}}  # type: ignore[dict-item]
    found = describe_dialogue("d", Content(TASKS, before), Content(TASKS, after), [])
    assert [(one["place"], one["kind"], one["before"] is None, one["after"] is None) for one in found["changes"]] == [
        ("tool find_trains", "removed", False, True),
        ("tool get_weather, parameters › properties › city › description", "changed", False, False),
        ("tool bare", "added", True, False),
        ("implementation of the tools", "changed", False, False),
    ]
    assert found["categories"] == ["tools"]
    swapped = {"tools": before["tools"][::-1]}
    (moved,) = describe_dialogue("d", Content(TASKS, before), Content(TASKS, swapped), [])["changes"]
    assert (moved["place"], moved["before"]) == ("order of the tools", "get_weather, find_trains")


def test_a_dialogue_with_many_and_long_changes_is_cut_and_still_counted() -> None:
    after = deepcopy(TASKS)
    for number, one in enumerate(after["tasks"]):
        one["user_message"] = f"{number}" * 30
    found = describe_dialogue("d", Content(TASKS, {}), Content(after, {}), [], Limits(changes=1, characters=10))
    assert (len(found["changes"]), found["total"]) == (1, 2)
    assert found["changes"][0]["after"] == "0000000000… (20 more characters)"


STAGES = [
    {"stage": "self_check", "round": 1, "entry": "0", "outcome": "pass", "reviews": [
        {"reviewer": "calm-otter", "verdict": "", "saw": "0", "made": "1"}]},
    {"stage": "cross_check", "round": 1, "entry": "1", "outcome": "", "broken_off": "It is no longer blind.",
     "reviews": [{"reviewer": "kind-hare", "verdict": "approve", "saw": "1", "made": None}]},
    {"stage": "expert", "round": 1, "entry": "1", "outcome": "pass", "reviews": [
        {"reviewer": "old-crane", "verdict": "fix", "saw": "1", "made": "2"}]},
]  # fmt: skip


def test_reviews_behind_a_change_are_those_after_the_older_revision() -> None:
    def names(sha256: str) -> list[str]:
        return [one["reviewer"] for one in reviews_behind({"stages": STAGES}, sha256)]

    assert names("0") == names("unknown") == ["calm-otter", "kind-hare", "old-crane"]
    assert names("1") == ["kind-hare", "old-crane"]
    _, broken, expert = reviews_behind({"stages": STAGES}, "0")
    assert (broken["reason"], broken["edited"]) == ("It is no longer blind.", False)
    assert (expert["stage"], expert["verdict"], expert["edited"]) == ("expert", "fix", True)


@pytest.mark.parametrize(
    "trail", [None, {}, {"stages": 3}, {"stages": [1, {"reviews": {"a": 1}}, {"reviews": [None]}]}]
)
def test_a_trail_that_says_nothing_has_no_reviews(trail: Any) -> None:
    assert reviews_behind(trail, "0") == []


@pytest.mark.parametrize(
    ("version", "level", "following"),
    [
        ("1.0", "major", "2.0"),
        ("1.0", "minor", "1.1"),
        ("1.0", "patch", "1.0.1"),
        ("1.0", "same", "1.0"),
        ("1.9.3", "major", "2.0.0"),
        ("1.9.3", "minor", "1.10.0"),
        ("1.9.3", "patch", "1.9.4"),
        ("2026-05", "major", None),
        ("2026.05", "minor", None),
        ("v1.0", "patch", None),
        ("1", "same", None),
        ("1.0.0.0", "major", None),
        ("１.0", "major", None),
    ],
)
def test_the_next_version_follows_the_pattern_of_the_last(version: str, level: str, following: str | None) -> None:
    assert next_version(version, Level(level)) == following


@pytest.mark.parametrize(
    ("counts", "references", "level", "words"),
    [
        (Counts(0, 0, 0, 5), 0, "same", "Both have the same dialogues"),
        (Counts(0, 0, 2, 5), 0, "patch", "changed, in 2 dialogues."),
        (Counts(1, 0, 2, 5), 0, "minor", "1 dialogue was added, and no reference changed."),
        (Counts(1, 0, 2, 5), 1, "major", "the reference of 1 dialogue changed."),
        (Counts(9, 2, 1, 5), 1, "major", "2 dialogues were removed and the reference of 1 dialogue changed."),
    ],
)
def test_the_greatest_change_decides(counts: Counts, references: int, level: str, words: str) -> None:
    found = suggest("1.0", counts, references=references, examined=counts.changed)
    assert (found.level, words in found.reason) == (level, True), found.reason


def test_a_suggestion_says_what_was_not_examined() -> None:
    counts = Counts(0, 0, 5000, 0)
    assert "2,000 of the 5,000 changed dialogues" in suggest("1.0", counts, references=0, examined=2000).reason
    assert "at least 3 dialogues" in suggest("1.0", counts, references=3, examined=2000).reason


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_more_changes_never_suggest_a_smaller_step(added: int, removed: int, other: int, reference: int) -> None:
    order = [Level.SAME, Level.PATCH, Level.MINOR, Level.MAJOR]

    def step(*parts: int) -> int:
        counts = Counts(parts[0], parts[1], parts[2] + parts[3], 1)
        return order.index(suggest("1.0", counts, references=parts[3], examined=counts.changed).level)

    now = step(added, removed, other, reference)
    assert now <= step(added + 1, removed, other, reference) <= step(added + 1, removed + 1, other, reference)
    assert now <= step(added, removed, other + 1, reference) <= step(added, removed, other + 1, reference + 1)


def dialogue(name: str) -> dict[str, Any]:
    return released(name, make_document(name))


@pytest.fixture
def archives(tmp_path: Path) -> tuple[Path, Path]:
    """1.0 has a to e. In 2.0, b is fixed, c has new metadata, d is called z, e is gone, f is new; the order is new."""
    fixed = released("b", changed(make_document("b")), stages=[{**STAGES[2], "entry": hash_of(dialogue("b"))}])
    noted = dialogue("c")
    noted["document"]["extra"] = {"source": "<script>alert('1')</script>\u202e"}
    before = write_release(tmp_path / "a.zip", "1.0", [dialogue(name) for name in "abcde"])
    after = write_release(
        tmp_path / "b.zip", "2.0", [dialogue("f"), noted, fixed, released("z", make_document("d")), dialogue("a")]
    )
    return before, after


def test_archives_are_compared_by_id_in_any_order(archives: tuple[Path, Path]) -> None:
    with compare_archives(*archives) as found:
        assert found.counts == Counts(added=2, removed=2, changed=2, unchanged=1)
        assert (list(found.added), list(found.removed), list(found.renamed)) == (["f", "z"], ["d", "e"], [("d", "z")])
        assert found.categories == {"answer": 1, "other": 1}
        assert (found.suggestion.level, found.suggestion.version) == ("major", "2.0")
        first, second = found.changed()
        assert [one["id"] for one in (first, second)] == ["c", "b"]
        assert first["reference"] is False
        (change,) = second["changes"]
        assert (change["before"], change["after"]) == (
            "It is clear and 18 degrees in Ghent b.",
            "It is sunny, 18 degrees.",
        )
        assert [one["reviewer"] for one in second["reviews"]] == ["old-crane"]
        written = json.loads(b"".join(write_json(found)))
    assert written["assay_difference"] == 1
    assert written["counts"] == {"added": 2, "removed": 2, "changed": 2, "unchanged": 1}
    assert written["renamed"] == [{"from": "d", "to": "z"}]
    assert written["changed"] == [first, second]


def test_equal_releases_have_no_changes_and_need_no_new_version(archives: tuple[Path, Path]) -> None:
    with compare_archives(archives[0], archives[0]) as found:
        assert found.counts == Counts(0, 0, 0, 5)
        assert (found.suggestion.level, found.suggestion.version) == ("same", "1.0")
        assert json.loads(b"".join(write_json(found)))["changed"] == []


class _Page(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_readable_file_is_one_page_without_scripts_or_links(archives: tuple[Path, Path]) -> None:
    with compare_archives(*archives) as found:
        text = "".join(write_html(found))
    page = _Page(text)
    assert not page.tags & {"script", "img", "iframe", "link", "object", "a", "form"}
    assert {"del", "ins", "table", "style"} <= page.tags
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert not re.search(r"https?://|@import|url\(", text)
    shown = " ".join(page.texts)
    assert "<script>alert('1')</script>�" in shown
    assert "expert, round 1: old-crane, fix, edited the dialogue" in shown
    assert "Suggested version after 1.0: 2.0." in shown
    assert "d → z" in shown


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run() -> Run:
    """Run the command as a shell does: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        out, told = io.StringIO(), io.StringIO()
        code = 0
        with redirect_stdout(out), redirect_stderr(told):
            try:
                Command(stdout=out, stderr=told).run_from_argv(["manage.py", "diff_releases", *map(str, arguments)])
            except SystemExit as end:
                code = int(end.code or 0)
        return code, out.getvalue(), told.getvalue()

    return run


def test_the_command_writes_counts_files_and_words(archives: tuple[Path, Path], tmp_path: Path, run: Run) -> None:
    code, out, told = run(*archives, "--json", tmp_path / "d.json", "--html", tmp_path / "d.html")
    assert code == 0
    counts = json.loads(out.splitlines()[-1])
    suggestion = counts.pop("suggestion")
    assert counts == {"added": 2, "removed": 2, "changed": 2, "unchanged": 1}
    assert (suggestion["level"], suggestion["version"]) == ("major", "2.0")
    assert "answer: changed in 1 dialogue" in told
    assert [one["id"] for one in json.loads((tmp_path / "d.json").read_bytes())["changed"]] == ["c", "b"]
    assert (tmp_path / "d.html").read_text().startswith("<!doctype html>")
    code, out, _ = run(archives[0], archives[0])
    assert (code, json.loads(out)["suggestion"]["level"]) == (0, "same")


def test_wrong_use_of_the_command_is_refused_with_a_sentence(
    archives: tuple[Path, Path], tmp_path: Path, run: Run
) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no archive")
    for arguments, sentence in (
        ((archives[0],), "required: B"),
        ((archives[0], tmp_path / "none.zip"), "is not a file"),
        ((archives[0], text), "text.zip: The zip archive is cut off"),
        ((*archives, "--json", archives[0]), "given twice"),
        ((*archives, "--json", tmp_path / "none" / "d.json"), "its folder does not exist"),
        ((*archives, "--html", tmp_path), "it is a folder"),
    ):
        code, out, told = run(*arguments)
        assert (code, out) == (2, ""), told
        assert sentence in told
        assert "Traceback" not in told


def test_archives_that_contradict_themselves_are_refused_with_the_place(tmp_path: Path) -> None:
    good = write_release(tmp_path / "good.zip", "1.0", [dialogue("a")])
    lying = dialogue("a")
    lying["document"] = changed(lying["document"])
    doubled = write_release(tmp_path / "doubled.zip", "1.1", [lying, lying])
    other = write_release(tmp_path / "other.zip", "1.1", [lying])
    with pytest.raises(SourceError, match="the list of items has a twice"), compare_archives(good, doubled):
        pass
    for broken, sentence in (
        (_replaced(other, "dialogues.jsonl", b'"kind"', b'"kinds"'), "dialogues.jsonl, line 1"),
        (_replaced(other, "dialogues.jsonl", b"sunny", b"rainy"), "the content differs from its hash in items.jsonl"),
        (_replaced(other, "dialogues.jsonl", b'"id":"a"', b'"id":"b"'), "no document of a"),
        (_replaced(other, "items.jsonl", b'"language"', b'"langage"'), "items.jsonl, line 1"),
        (_replaced(other, "items.jsonl", b"{", b"["), "items.jsonl, line 1"),
        (_replaced(other, "manifest.json", b'"canary"', b'"bird"'), "manifest.json at /canary"),
    ):
        with pytest.raises(SourceError) as refused, compare_archives(good, broken):
            pass
        assert sentence in str(refused.value)
        assert str(broken) in str(refused.value)


def _replaced(path: Path, name: str, old: bytes, new: bytes) -> Path:
    """Return another archive, in which the first ``old`` of a file is ``new``."""
    target = path.with_name(f"broken{len(list(path.parent.iterdir()))}.zip")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for member in source.namelist():
            content = source.read(member)
            out.writestr(member, content.replace(old, new, 1) if member.endswith(f"/{name}") else content)
    return target
