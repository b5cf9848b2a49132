"""Comments: mentions, replies, dealt with, stale; whom they tell, and what a blind colleague never hears."""

import html
import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.schema import canonical, read_document
from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, Notice, Revision, Role, User
from annotator.services.dialogues.drafts import open_draft
from annotator.services.notices.notices import list_notices, mark_page_read, unread_count
from reviews.models import Comment
from reviews.services.assignments.changes import hand_over, reassign
from reviews.services.feedback import comments
from reviews.services.feedback.comments import (
    add_comment,
    add_comment_once,
    comment_on,
    read_threads,
    resolve_comment,
)
from reviews.services.feedback.mentions import find_mentions, known_mentions, suggested_names
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.queue.claims import claim_slot, release
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    begin,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_dialogue,
    make_item,
    make_user,
    open_slot,
)

pytestmark = pytest.mark.django_db


def told(person: User) -> list[tuple[str, str]]:
    return [
        (row.kind, row.text) for row in Notice.objects.filter(person=person).exclude(kind="assignment").order_by("pk")
    ]


def page(team: Team, person: User, item: Dialogue, client: Client, **posted: str) -> str:
    client.force_login(person)
    address = f"/p/{team.project.slug}/dialogues/{item.public_id}/"
    if posted:
        return client.post(f"{address}comments/", posted, follow=True).content.decode()
    return client.get(address).content.decode()


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@ann look", ["ann"]),
        ("Ask @ann-x.y, or @bob.", ["ann-x.y", "bob"]),
        ("(@ann) @ann", ["ann"]),
        ("mail ann@example.org and a@b", []),
        ("`@param` and ```\n@decorator\n``` but @ann", ["ann"]),
        ("@ @@ @.", []),
        ("你好 @王芳。", ["王芳"]),
    ],
)
def test_what_is_a_mention(text: str, names: list[str]) -> None:
    assert find_mentions(text) == names


def test_members_are_found_by_username_and_pseudonym_whatever_the_case(team: Team) -> None:
    ann = team.annotator
    assert known_mentions(team.project, [ann.username.upper(), ann.pseudonym.lower(), team.outsider.username]) == [ann]
    assert team.outsider not in suggested_names(team.project)
    assert team.senior in suggested_names(team.project)


def test_a_name_nobody_has_is_refused_with_a_sentence(team: Team) -> None:
    item = make_item(team, "self_check_single")
    for name in ("nobody", team.outsider.username):
        with pytest.raises(Invalid, match=f"@{name} isn’t a member"):
            comment_on(actor=team.senior, dialogue=item, anchor="", text=f"Ask @{name}.")
    assert not Comment.objects.exists()
    assert not Notice.objects.exists()


# --- whom they tell ---------------------------------------------------------------------------------------------------


def test_each_is_told_once_for_the_reason_that_concerns_them_most(team: Team) -> None:
    item = make_item(team, "cross_check")  # owned by the first annotator
    owner, senior, ada = team.annotator, team.senior, team.administrator
    first = comment_on(actor=senior, dialogue=item, anchor="", text=f"@{ada.username}, is this so?")
    assert [kind for kind, _ in told(owner)] == ["comment"]
    assert [kind for kind, _ in told(ada)] == ["mention"]
    assert told(senior) == []
    comment_on(actor=ada, dialogue=item, anchor="", text=f"It is, @{owner.username}.", reply_to=first.public_id)
    assert [kind for kind, _ in told(owner)] == ["comment", "mention"]
    assert [kind for kind, _ in told(senior)] == ["reply"]
    comment_on(actor=senior, dialogue=item, anchor="", text="Thanks.", reply_to=first.public_id)
    assert [kind for kind, _ in told(ada)] == ["mention", "reply"]
    assert f"#c-{first.public_id}" in Notice.objects.latest("pk").target


def test_an_answer_to_an_answer_belongs_to_the_first_comment(team: Team) -> None:
    item = make_item(team, "self_check_single")
    first = comment_on(actor=team.senior, dialogue=item, anchor="/tasks/t1", text="One.")
    second = comment_on(actor=team.senior, dialogue=item, anchor="", text="Two.", reply_to=first.public_id)
    third = comment_on(actor=team.senior, dialogue=item, anchor="", text="Three.", reply_to=second.public_id)
    assert (third.parent, third.anchor) == (first, "/tasks/t1")
    other = make_item(team, "self_check_single")
    with pytest.raises(Hidden):
        comment_on(actor=team.senior, dialogue=other, anchor="", text="Four.", reply_to=first.public_id)


def test_work_that_is_given_is_told(team: Team) -> None:
    item = make_item(team, "cross_check")
    reassign(actor=team.administrator, slot=open_slot(item), to=team.annotators[1], reason="You know trains.")
    hand_over(actor=team.administrator, dialogue=item, to=team.annotators[2])
    assert [row.text for row in Notice.objects.filter(kind="assignment").order_by("pk")] == [
        f"{item.external_id} is assigned to you: Cross-check. You know trains.",
        f"You now own {item.external_id}.",
    ]


def test_experts_hear_once_that_something_waits(team: Team) -> None:
    first, second = (make_item(team, "expert") for _ in range(2))
    notice = Notice.objects.get(kind="escalation")
    assert (notice.person, notice.target) == (team.senior, first.get_absolute_url())
    assert first.external_id in notice.text
    mark_page_read(actor=team.senior, path=second.get_absolute_url())
    mark_page_read(actor=team.senior, path="/")
    assert Notice.objects.filter(kind="escalation", read_at=None).exists()
    # Settled by a colleague, it needs no reading, and the next one is notified of instead.
    for settled, waiting in ((first, [second.get_absolute_url()]), (second, [])):
        claim_and_submit(team.senior, settled, "reject")
        unread = Notice.objects.filter(kind="escalation", read_at=None)
        assert [one.target for one in unread] == waiting


def test_a_notice_of_a_dispute_goes_to_those_who_may_settle_it(team: Team) -> None:
    """A senior reviewer who has reviewed it before is notified of the next one instead."""
    protocol = current_protocol(team.project)
    assert protocol is not None
    expert = protocol.stages[-1]
    eligible = expert.eligible.model_copy(update={"not_earlier_reviewers": True})
    stages = (*protocol.stages[:-1], expert.model_copy(update={"eligible": eligible}))
    adopt_protocol(
        actor=team.administrator, project=team.project, protocol=protocol.model_copy(update={"stages": stages})
    )
    other = give_role(team.project, make_user(), Role.SENIOR_REVIEWER, Role.ANNOTATOR)
    reviewer = give_role(team.project, team.annotators[2], Role.SENIOR_REVIEWER)
    first, second = make_item(team, "expert"), make_item(team, "expert")

    def notified() -> set[tuple[User, str]]:
        rows = Notice.objects.filter(kind="escalation", read_at=None).select_related("person")
        return {(one.person, one.target) for one in rows}

    assert notified() == {(person, first.get_absolute_url()) for person in (team.senior, other)}
    third = make_dialogue(team.project)
    begin(team.project, [third])
    for _ in range(2):
        claim_and_submit(team.annotator, third)
    claim_and_submit(team.annotators[1], third, "approve")
    claim_and_submit(other, third, "fix", document=changed(current(third)))
    assert notified() == {(person, first.get_absolute_url()) for person in (team.senior, other)} | {
        (reviewer, third.get_absolute_url())
    }
    claim_and_submit(team.senior, first, "reject")
    assert (team.senior, second.get_absolute_url()) in notified()
    claim_and_submit(team.senior, second, "reject")
    assert notified() == {(person, third.get_absolute_url()) for person in (team.senior, reviewer)}


# --- blind ------------------------------------------------------------------------------------------------------------


EVERYBODY_ELSE: list[Callable[[Team], User]] = [
    lambda team: team.annotators[2],
    lambda team: team.annotator,
    lambda team: team.senior,
    lambda team: team.administrator,
]


@pytest.mark.parametrize("who", EVERYBODY_ELSE)
def test_nobody_hears_of_what_a_blind_reviewer_says_before_the_stage_settles(
    team: Team, who: Callable[[Team], User], client: Client
) -> None:
    item = make_item(team, "cross_check")
    person, reviewer = who(team), team.annotators[1]

    def seen() -> tuple[object, ...]:
        document = current(item)
        threads = read_threads(actor=person, dialogue=item, document=document)
        rows = [row.text for row in list_notices(actor=person).rows]
        return unread_count(person), rows, threads, "Wrong town" in page(team, person, item, client)

    before = seen()
    claim = claim_slot(actor=reviewer, slot=open_slot(item))
    work = load_slot_work(actor=reviewer, public_id=claim.slot.public_id)
    named = " ".join(f"@{other.username}" for other in (team.annotators[2], team.annotator, team.senior))
    comment = add_comment(actor=reviewer, work=work, anchor="/tasks/t1", text=f"Wrong town, {named}.")
    add_comment(actor=reviewer, work=work, anchor="", text="And more.", reply_to=comment.public_id)
    assert seen() == before
    with pytest.raises(Hidden):
        resolve_comment(actor=person, public_id=comment.public_id)
    submit_review(actor=reviewer, slot=claim.slot, token=claim.token, verdict="approve")
    assert seen() == before
    claim_and_submit(team.annotators[2], item, "approve")
    mentioned = person != team.administrator
    assert ("mention" in [row.kind for row in list_notices(actor=person).rows]) is mentioned
    assert seen()[3]


def test_who_reviews_blind_is_told_no_name_in_the_words_of_a_comment_or_a_notice(team: Team, client: Client) -> None:
    author, reader, other = team.annotators[:3]
    item = make_item(team, "self_check_multi")
    said = f"@{author.username} as @{author.pseudonym.upper()}, `@{other.username}` and @{reader.username} say."
    comment_on(actor=team.senior, dialogue=item, anchor="", text=said)
    assert f"{team.senior} mentioned you" in client_page(reader, "/")
    claim_and_submit(author, item, "approve")
    own = comment_on(actor=other, dialogue=item, anchor="", text=f"@{author.username} wrote it.")
    claim_slot(actor=reader, slot=open_slot(item))
    shown = page(team, reader, item, client)
    home, notices = client_page(reader, "/"), client_page(reader, "/notices/")
    code = re.search("@colleague-([0-9a-f]{4})", shown)
    assert code is not None
    assert f"Colleague {code[1]}" in shown  # the owner is called so, too
    assert f"@colleague-{code[1]}, @{other.username} and @{reader.username} say." in re.sub("<[^>]+>", "", shown)
    for text in (re.sub("<datalist.*?</datalist>", "", shown, flags=re.DOTALL), home, notices):
        assert str(team.senior) not in text
        assert author.username not in text
    # Opening the dialogue has read the notice, so My work shows it no longer.
    assert f"A colleague commented on {item.external_id}." in notices
    # One's own words stay as they are, and colleagues are told all when the stage has settled.
    claim_slot(actor=other, slot=open_slot(item))
    assert own.text in page(team, other, item, client)
    for person in (reader, other):
        claim_and_submit(person, item, "approve")
    assert f"{team.senior} mentioned you" in client_page(reader, "/notices/")


def client_page(person: User, address: str) -> str:
    client = Client()
    client.force_login(person)
    return html.unescape(client.get(address).content.decode())


def test_who_reviews_blind_comments_in_the_workspace_and_leaves_the_open_ones_alone(team: Team, client: Client) -> None:
    item = make_item(team, "cross_check")
    comment = comment_on(actor=team.senior, dialogue=item, anchor="", text="Is this so?")
    claim_slot(actor=team.annotators[1], slot=open_slot(item))
    for act in (
        lambda: comment_on(actor=team.annotators[1], dialogue=item, anchor="", text="No."),
        lambda: resolve_comment(actor=team.annotators[1], public_id=comment.public_id),
    ):
        with pytest.raises(Denied, match="independently"):
            act()
    shown = page(team, team.annotators[1], item, client)
    assert "Comment in your workspace" in shown
    assert "Is this so?" in shown


# --- places, and what becomes of them ---------------------------------------------------------------------------------


def test_who_gave_a_blind_review_back_says_nothing_in_the_open_either(team: Team) -> None:
    item = make_item(team, "cross_check")
    person = team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    release(actor=person, token=claim.token)
    with pytest.raises(Denied, match="independently"):
        comment_on(actor=person, dialogue=item, anchor="", text="The answer is wrong.")
    # A person who never had it may.
    assert comment_on(actor=team.senior, dialogue=item, anchor="", text="Nice.").sealed is False


def test_an_anchor_survives_edits_elsewhere_and_goes_stale_with_its_value(team: Team) -> None:
    item = make_item(team, "self_check_single")
    here, there = "/tasks/t1/user_message", "/tasks/t1/steps/s1"
    for anchor in (here, there, ""):
        comment_on(actor=team.senior, dialogue=item, anchor=anchor, text="Hm.")
    claim_and_submit(team.annotator, item, "fix", document=changed(current(item)))
    threads = read_threads(actor=team.senior, dialogue=item, document=current(item))
    assert [(thread.place, thread.outdated) for thread in threads] == [
        ("task 1, user message", False), ("task 1, answer s1", True), ("", True),
    ]  # fmt: skip


def test_a_place_that_no_version_has_is_refused_and_one_that_was_there_is_not(team: Team) -> None:
    item = make_item(team, "self_check_single")
    for anchor in ("/tasks/t9", "/tasks/t1/steps/s1/no", "nowhere", "/tasks/0"):
        with pytest.raises(Invalid, match=f"nothing at {anchor}. Choose another place"):
            comment_on(actor=team.senior, dialogue=item, anchor=anchor, text="Hm.")
    document = current(item)
    document["tasks"][0]["steps"][1]["id"] = "s9"
    claim_and_submit(team.annotator, item, "fix", document=document)
    item.refresh_from_db()
    # On a page that was opened before, it is there still.
    gone = comment_on(actor=team.senior, dialogue=item, anchor="/tasks/t1/steps/s1", text="This was right.")
    (thread,) = read_threads(actor=team.senior, dialogue=item, document=current(item))
    assert (thread.comment, thread.outdated) == (gone, True)


def test_a_place_that_nobody_has_is_looked_for_in_few_versions(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MAX_LOOKED_AT", 2)
    item = make_item(team, "self_check_single")
    head = item.head
    assert head is not None
    had = canonical(current(item) | {"was": 1})
    for n in range(4):
        fields = {"dialogue": item, "branch": f"old{n}", "toolset_revision": head.toolset_revision}
        Revision.objects.create(number=10 + n, content_hash="", content=had if n < 2 else head.content, **fields)
        Draft.objects.create(author=team.senior, base=head, content=head.content, **fields)
    read = []
    document = Revision.document
    monkeypatch.setattr(Revision, "document", lambda self: read.append(self.pk) or document(self))
    with pytest.raises(Invalid, match=r"nothing at /was. Choose another place"):
        comment_on(actor=team.senior, dialogue=item, anchor="/was", text="Hm.")
    assert len(read) == 3
    monkeypatch.setattr(comments, "MAX_LOOKED_AT", 4)
    assert comment_on(actor=team.senior, dialogue=item, anchor="/was", text="Hm.").value_hash


def test_on_the_work_page_a_place_may_lie_in_ones_own_draft_and_in_nobody_elses(team: Team) -> None:
    item = make_item(team, "self_check_single")
    work = load_slot_work(
        actor=team.annotator, public_id=claim_slot(actor=team.annotator, slot=open_slot(item)).slot.public_id
    )
    new = "/tasks/t1/steps/s7"
    with pytest.raises(Invalid, match="Choose another place"):
        add_comment(actor=team.annotator, work=work, anchor=new, text="Is it needed?")
    step = {"id": "s7", "type": "call", "name": "get_weather", "arguments": {}, "observation": None, "depends_on": []}
    draft = open_draft(actor=team.annotator, dialogue=item, base=work.slot.revision, branch="main")
    steps = [step, *current(item)["tasks"][0]["steps"]]
    document = current(item)
    document["tasks"][0]["steps"] = steps
    Draft.objects.filter(pk=draft.pk).update(content=canonical(read_document(document)))
    comment = add_comment(actor=team.annotator, work=work, anchor=new, text="Is it needed?")
    assert (comment.anchor, comment.value_hash) == (new, "")
    with pytest.raises(Invalid):
        comment_on(actor=team.senior, dialogue=item, anchor=new, text="Is it needed?")


def test_dealt_with_and_open_again(team: Team) -> None:
    item = make_item(team, "self_check_single")
    first, second = (comment_on(actor=team.senior, dialogue=item, anchor="", text=text) for text in ("A", "B"))
    resolve_comment(actor=team.annotator, public_id=first.public_id, dialogue=item)
    # A second click, or a colleague's: the same wish.
    assert resolve_comment(actor=team.senior, public_id=first.public_id).resolved_by == team.annotator
    document = current(item)
    order = [thread.comment for thread in read_threads(actor=team.senior, dialogue=item, document=document)]
    assert order == [second, first]
    assert resolve_comment(actor=team.senior, public_id=first.public_id, reopen=True).resolved_by is None
    assert resolve_comment(actor=team.annotator, public_id=first.public_id, reopen=True).resolved_by is None


def test_the_same_words_sent_twice_are_one_comment_but_an_answer_is_another(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    first = add_comment(actor=team.annotator, work=work, anchor="/tasks/t1", text="Yes.")
    for reply_to, count in (("", 1), (first.public_id, 2), (first.public_id, 2)):
        add_comment_once(actor=team.annotator, work=work, anchor="/tasks/t1", text="Yes.", reply_to=reply_to)
        assert item.comments.count() == count


def test_what_a_double_click_says_twice_on_the_page_of_a_dialogue_is_one_comment(team: Team) -> None:
    item = make_item(team, "self_check_multi")

    def say(text: str, anchor: str = "", reply_to: str = "") -> Comment:
        return comment_on(actor=team.senior, dialogue=item, anchor=anchor, text=text, reply_to=reply_to)

    first = say("Why?")
    assert say(" Why? ").pk == first.pk
    assert say("Why?", "/tasks/t1").pk != first.pk
    answer = say("So.", reply_to=first.public_id)
    assert say("So.", reply_to=first.public_id).pk == answer.pk
    assert say("Why?").pk != first.pk
    assert len(told(team.annotator)) == 4


def test_both_pages_say_that_there_is_no_such_place(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    client.force_login(team.annotator)
    posted = {"anchor": "/tasks/t9", "text": "My words."}
    for address in (
        f"/p/{team.project.slug}/dialogues/{item.public_id}/comments/",
        reverse("workspace-comment", args=[claim.slot.public_id]),
    ):
        answer = client.post(address, posted)
        assert answer.status_code == 422
        assert "nothing at /tasks/t9. Choose another place" in answer.content.decode()
    assert not Comment.objects.exists()


# --- pages ------------------------------------------------------------------------------------------------------------


def test_line_breaks_of_browsers_count_once(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    client.force_login(team.annotator)
    text = "\n".join(["x"] * 2000) + "x"
    assert len(text) == comments.MAX_TEXT
    for address in (
        f"/p/{team.project.slug}/dialogues/{item.public_id}/comments/",
        reverse("workspace-comment", args=[claim.slot.public_id]),
    ):
        # Browsers send two characters for each line break.
        sent = {"anchor": "/tasks/t1", "text": text.replace("\n", "\r\n")}
        assert client.post(address, sent).status_code in (200, 302)
        assert Comment.objects.latest("pk").text == text
    assert Comment.objects.count() == 2


def test_on_the_page_of_a_dialogue_without_scripts(team: Team, client: Client) -> None:
    item = make_item(team, "cross_check")
    shown = page(
        team,
        team.senior,
        item,
        client,
        anchor="/tasks/t1",
        text="**Odd** <script>",
        mention=f"@{team.annotator.username}",
    )
    assert "<strong>Odd</strong> &lt;script&gt;" in shown
    assert [kind for kind, _ in told(team.annotator)] == ["mention"]
    comment = Comment.objects.get()
    answered = page(team, team.senior, item, client, text="Answered.", reply_to=comment.public_id)
    assert answered.count('class="comment"') == 2
    refused = page(team, team.senior, item, client, anchor="/tasks/t1", text="@who is that?")
    assert "@who isn’t a member" in refused
    assert "@who is that?</textarea>" in refused
    address = f"/p/{team.project.slug}/dialogues/{item.public_id}/comments/{comment.public_id}/"
    assert "Resolved" in client.post(address, follow=True).content.decode()
    partial = client.post(address, {"reopen": "1"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in partial
    assert "Resolved</span>" not in partial


def test_the_page_asks_as_often_for_many_comments_as_for_few(team: Team, client: Client) -> None:
    item = make_item(team, "cross_check")

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(team, team.senior, item, client)
        return len(captured)

    comment_on(actor=team.senior, dialogue=item, anchor="", text="One.")
    asked()
    few = asked()
    for person in (team.annotator, team.administrator, team.senior):
        for _ in range(5):
            one = comment_on(actor=person, dialogue=item, anchor="/tasks/t1", text="More.")
            comment_on(actor=team.senior, dialogue=item, anchor="", text="Yes.", reply_to=one.public_id)
    assert asked() <= few


def test_one_person_does_not_fill_a_dialogues_page_with_comments(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MAX_COMMENTS", 3)
    item = make_item(team, "cross_check")
    for n in range(3):
        comment_on(actor=team.senior, dialogue=item, anchor="/tasks/t1", text=f"{n}.")
    with pytest.raises(Invalid, match="at most 3 comments"):
        comment_on(actor=team.senior, dialogue=item, anchor="", text="Once more.")
    comment_on(actor=team.administrator, dialogue=item, anchor="/tasks/t1", text="Others are free to.")
    assert item.head is not None
    looked: list[str] = []
    hash_at = comments._hash_at

    def counted(document: object, anchor: str) -> str:
        looked.append(anchor)
        return hash_at(document, anchor)  # type: ignore[arg-type]

    monkeypatch.setattr(comments, "_hash_at", counted)
    assert len(read_threads(actor=team.senior, dialogue=item, document=item.head.document())) == 4
    assert looked == ["/tasks/t1"]
