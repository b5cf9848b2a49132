"""Blind means blind at every address: with one of two reviews in, nothing anybody reads tells anything of it.

The addresses come from the URL conf, as in ``tests/test_access_matrix.py``, so that a new page cannot be forgotten.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from annotator.models import Dialogue, StoredSuggestion, User
from annotator.services.dialogues.drafts import edit_draft, open_draft
from annotator.services.dialogues.suggestion_decisions import refuse_suggestion
from reviews.models import Review, Slot
from reviews.services.feedback.comments import add_comment
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive
from tests.access_project import AccessProject, make_access_project
from tests.factories import make_item, open_slot
from tests.test_access_matrix import NAMES, VARIABLES, address

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

#: What the first reviewer writes, each in a place of its own. No other text of the world holds them.
WORDS = {
    "reason": "zebrareason",
    "comment": "zebracomment",
    "finding": "zebrafinding",
    "waiver": "zebrawaiver",
    "changed value": "zebravalue",
}
#: Panels and filters of pages: (name of the address, query).
QUERIES = (
    *(("workspace", f"panel={panel}") for panel in ("findings", "comments", "revisions", "edit", "graph", "history")),
    ("dialogue", "panel=comments"),
    ("dialogue-list", "q=zebravalue"),
    ("api-dialogue-list", "q=zebravalue"),
    ("api-dialogue-list", "search=zebravalue"),
    ("dialogue-list", "sort=-changed&count=1"),
    ("dialogue-list", "problems=errors&sort=-errors&count=1"),
    ("api-dialogue-count", "q=zebravalue"),
    ("api-dialogue-count", "problems=warnings"),
    ("api-dialogue-list", "sort=-changed"),
    *(("dialogue-export", f"sort=-changed&format={form}") for form in ("csv", "jsonl", "parquet")),
    ("api-dialogue-export", "format=jsonl"),
)
#: What differs from one request to the next for everybody.
PASSING = re.compile(
    r'csrf[\w-]*" (?:value|content)="[^"]+"|"X-CSRFToken": ?"[^"]+"|nonce="[^"]+"|datetime="[^"]+"|seconds? ago'
    # The secret of an app or passkey that is being added is another one each time.
    r'|<code>[A-Z2-7]{32}</code>|"challenge": "[^"]+"'
    # Opening a page prolongs the hold: until when changes with the minute.
    "|[0-9:]+ UTC</time>"
    # In the file of one's own data: when this browser signed in.
    r'|"last_login": "[^"]+"|"table": "usersessions\.UserSession\.user".*|"table": "annotator\.SecurityEvent\.person".*'
)


@dataclass(frozen=True)
class Half:
    """An item in a blind stage with one review in, and the other reviewer at work on it."""

    access: AccessProject
    item: Dialogue
    first: User
    ids: dict[str, str]


@pytest.fixture
def half() -> Half:
    """Before the first review is submitted."""
    access = make_access_project()
    team = access.team
    item = make_item(team, "cross_check", external_id="half-reviewed")
    first, other = team.annotators[1:3]
    claim_slot(actor=first, slot=open_slot(item))
    held = claim_slot(actor=other, slot=open_slot(item, other))
    suggestion = StoredSuggestion.objects.create(
        dialogue=item, place="/tasks/t1/policy", kind="policy", value="chat", source="model"
    )
    head = item.head
    assert head is not None
    assert held.slot.holder_id == other.pk
    work = load_slot_work(actor=other, public_id=held.slot.public_id)
    open_draft(actor=other, dialogue=item, base=head, branch=work.branch)
    ids = access.ids | {
        "dialogue": item.public_id, "revision": head.public_id, "slot": held.slot.public_id, "claim": held.token,
        "person": first.public_id, "suggestion": suggestion.public_id,
    }  # fmt: skip
    readers: dict[str, User | None] = {
        "other": other, "owner": team.annotator, "senior": team.senior, "administrator": team.administrator,
    }  # fmt: skip
    return Half(replace(access, people=readers), item, first, ids)


def say(half: Half, verdict: str) -> list[str]:
    """The first reviewer's whole work: edits, a decision, comment, waiver, finding, verdict.

    Returns what no one else may read.
    """
    slot = Slot.objects.get(dialogue=half.item, holder=half.first, stage="cross_check")
    work = load_slot_work(actor=half.first, public_id=slot.public_id)
    anchor = "/tasks/t1/steps/s1/text"
    draft = open_draft(actor=half.first, dialogue=work.dialogue, base=work.slot.revision, branch=work.branch)
    value = f"It is clear and 18 degrees, {WORDS['changed value']}."
    if verdict != "approve":
        draft = edit_draft(
            actor=half.first, draft=draft, operation={"op": "set", "anchor": anchor, "value": value}, seen=draft.version
        ).draft
        refuse_suggestion(actor=half.first, draft=draft, public_id=half.ids["suggestion"])
    add_comment(actor=half.first, work=work, anchor=anchor, text=WORDS["comment"])
    waive(actor=half.first, work=work, check="label.x", anchor=anchor, value_hash="0" * 16, reason=WORDS["waiver"])
    review = submit_review(
        actor=half.first,
        slot=work.slot,
        token=work.claim.token,
        verdict=verdict,
        named_errors=[{"kind": "answer_wrong", "anchor": anchor, "note": WORDS["finding"]}],
        reason=WORDS["reason"],
    )
    assert Review.objects.get(pk=review.pk).sealed
    made = review.made_revision
    secrets = [*WORDS.values(), review.public_id, draft.public_id]
    return secrets if made is None else [*secrets, made.public_id, made.content_hash]


def read_some(half: Half, reader: str, names: Iterable[str], **ids: str) -> dict[str, str]:
    """Some addresses as somebody reads them: {address: text}."""
    fetch = reading(half, reader)
    return {name: fetch(address(name, half.ids | ids)) for name in names}


def read(half: Half, reader: str) -> dict[str, str]:
    """Every address, and panels and searches besides, as somebody reads them: {address: text}."""
    fetch = reading(half, reader)
    pages = {name: fetch(address(name, half.ids)) for name in NAMES}
    return pages | {f"{name}?{query}": fetch(f"{address(name, half.ids)}?{query}") for name, query in QUERIES}


def reading(half: Half, reader: str) -> Callable[[str], str]:
    """A browser in which somebody is signed in; whatever a visit changes is taken back."""
    person = half.access.people[reader]
    assert person is not None
    client = Client(raise_request_exception=False)
    client.force_login(person)

    def fetch(path: str) -> str:
        with transaction.atomic():
            response: Any = client.get(path)
            content = b"".join(response.streaming_content) if response.streaming else response.content
            transaction.set_rollback(True)
        return str(content.decode(errors="replace"))

    return fetch


def telling(pages: Mapping[str, str], secrets: list[str]) -> dict[str, str]:
    """Pages that hold what nobody may read; a search page may repeat the word that was searched for."""
    out = {}
    for name, text in pages.items():
        asked = name.partition("?")[2].rpartition("=")[2]
        for secret in secrets:
            if secret in text and not (secret == asked and "half-reviewed" not in text):
                out[name] = secret
    return out


def test_no_address_tells_the_other_reviewer_anything_or_depends_on_the_verdict(half: Half) -> None:
    seen = {}
    for verdict in ("fix", "reject", "approve"):
        with transaction.atomic():
            secrets = say(half, verdict)
            pages = read(half, "other")
            assert "half-reviewed" in pages["workspace"]
            assert telling(pages, secrets) == {}
            seen[verdict] = {name: PASSING.sub("", text) for name, text in pages.items()}
            transaction.set_rollback(True)
    for verdict in ("reject", "approve"):
        assert [name for name, text in seen["fix"].items() if text != seen[verdict][name]] == []


@pytest.mark.any_database
@pytest.mark.parametrize("reader", ["owner", "senior", "administrator"])
def test_no_address_tells_anybody_else_anything(half: Half, reader: str) -> None:
    secrets = say(half, "fix")
    assert telling(read(half, reader), secrets) == {}


def test_the_sealed_version_cannot_be_asked_for_by_its_id(half: Half) -> None:
    secrets = say(half, "fix")
    made = Review.objects.get(dialogue=half.item, sealed=True).made_revision
    assert made is not None
    names = [name for name, variables in VARIABLES.items() if {"revision", "revision_id", "other_id"} & {*variables}]
    assert len(names) > 1
    pages = read_some(half, "other", names, revision=made.public_id, other_revision=made.public_id)
    # The address itself repeats the id it was asked for.
    assert telling(pages, [one for one in secrets if one != made.public_id]) == {}


@pytest.mark.any_database
def test_once_both_are_in_the_words_are_there_to_be_read(half: Half) -> None:
    """That the searches above would find them."""
    secrets = say(half, "fix")
    other: Any = half.access.people["other"]
    slot = Slot.objects.get(public_id=half.ids["slot"])
    submit_review(actor=other, slot=slot, token=half.ids["claim"], verdict="approve")
    pages = read_some(half, "senior", ["dialogue", "api-review-list", "api-revision-list"])
    there = {secret for secret in secrets if any(secret in text for text in pages.values())}
    assert {WORDS["reason"], WORDS["comment"], WORDS["finding"]} <= there
