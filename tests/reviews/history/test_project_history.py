"""The history of a project: who sees what of it, filters, before and after, the file, and what was tampered with."""

import json
import re
import subprocess
import sys
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.schema import content_hash
from annotator.core.schema.exact_json import dumps
from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Job, Revision, Role, ToolsetRevision, User
from annotator.services import members, projects
from annotator.services.accounts import tokens
from annotator.services.database.filters import UnknownFilter
from annotator.services.history.events import append_event, event_digest
from annotator.services.integrity import history_checks
from annotator.services.integrity.checkpoints import write_checkpoint
from annotator.services.integrity.history_checks import history_problems
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.models import Draw, Priority, ProtocolVersion, Review, Slot
from reviews.services.assignments.changes import prioritise
from reviews.services.cycles.start import supersede_cycle
from reviews.services.history import project_history as history
from reviews.services.sampling.draws import close_population_and_draw
from tests.benchmark.conftest import as_lines, begin_import, candidate
from tests.factories import Team, adopt_c3, changed, claim_and_submit, current, make_item
from tests.pages import one_line

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[3]


def lines(team: Team, actor: User, **filters: Any) -> list[history.Line]:
    return history.list_events(actor=actor, project=team.project, filters=history.Filters(**filters)).rows


def kinds(team: Team, actor: User, **filters: Any) -> set[str]:
    return {line.event.kind for line in lines(team, actor, **filters)}


def change(team: Team, **changes: Any) -> None:
    project = team.project
    values = {name: getattr(project, name) for name in ("name", "description", "time_zone", "long_range_rule")}
    projects.change_project(
        actor=team.administrator, project=project, check_settings=project.check_settings, **values | changes
    )
    project.refresh_from_db()


# --- every setting ----------------------------------------------------------------------------------------------------


def test_every_setting_tells_before_and_after(team: Team) -> None:
    ada, project = team.administrator, team.project
    change(team, name="Trains", time_zone="Europe/Kyiv")
    for text in ("# One", "# Two"):
        seen = project.guidelines.count()
        projects.publish_guideline(actor=ada, project=project, text=text, note="Dates.", seen=seen)
    members.grant_role(actor=ada, project=project, user=team.annotator, role=Role.SENIOR_REVIEWER)
    members.end_role(actor=ada, project=project, user=team.annotator, role=Role.SENIOR_REVIEWER)
    invitation, _ = members.create_invitation(actor=ada, project=project, roles=["annotator"], note="For Eve")
    members.revoke_invitation(actor=ada, project=project, public_id=invitation.public_id)
    token, secret = tokens.create_token(actor=team.annotator, name="nightly", expires_at=None)
    tokens.revoke_token(actor=team.annotator, public_id=token.public_id)
    adopt_c3(team, cross_check_reviewers=1)

    told = {line.event.kind: line for line in reversed(lines(team, ada))}
    assert [(value.name, value.before, value.after) for value in told["project.changed"].values] == [
        ("name", project.slug.capitalize(), "Trains"),
        ("time zone", "UTC", "Europe/Kyiv"),
    ]
    newest = next(line for line in lines(team, ada) if line.event.kind == "guideline.published")
    assert (newest.event.before["number"], newest.event.after["number"]) == (1, 2)
    assert newest.event.before["sha256"] != newest.event.after["sha256"]
    assert {value.name: value.before for value in told["membership.ended"].values}["user"] == str(team.annotator)
    assert told["invitation.revoked"].event.before["note"] == "For Eve"
    assert told["token.created"].event.actor == team.annotator
    assert secret not in json.dumps([line.event.after for line in lines(team, ada)])
    assert {"token.revoked", "protocol.adopted", "invitation.created", "membership.granted"} <= set(told)


def test_a_priority_tells_what_it_was(team: Team) -> None:
    item = make_item(team, "self_check_single")
    prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH)
    event = Event.objects.get(kind="dialogue.prioritised")
    assert (event.before, event.after) == ({"priority": "normal"}, {"priority": "high"})


# --- who sees what ----------------------------------------------------------------------------------------------------


def test_administrators_see_all_experts_the_items_others_nothing(team: Team) -> None:
    make_item(team, "cross_check")
    assert {"protocol.adopted", "review.submitted"} <= kinds(team, team.administrator)
    seen = kinds(team, team.senior)
    assert "review.submitted" in seen
    assert "protocol.adopted" not in seen
    with pytest.raises(Denied):
        lines(team, team.annotator)
    with pytest.raises(Hidden):
        lines(team, team.outsider)
    with pytest.raises(Denied):
        history.export_events(actor=team.senior, project=team.project, filters=history.Filters())


def test_nothing_tells_of_a_blind_review_before_it_has_settled(team: Team, client: Client) -> None:
    item = make_item(team, "cross_check")

    def seen(person: User) -> tuple[Any, ...]:
        client.force_login(person)
        page = one_line(client.get(f"/p/{team.project.slug}/history/"))
        told = [(line.event.pk, line.text) for line in lines(team, person)]
        return told, page.count("<summary data-nav-item"), page.count(str(team.annotators[1]))

    def exported() -> list[bytes]:
        return list(history.export_events(actor=team.administrator, project=team.project, filters=history.Filters()))

    before, file = [seen(person) for person in (team.senior, team.administrator)], exported()
    claim_and_submit(team.annotators[1], item, "reject", reason="Odd.")
    assert [seen(person) for person in (team.senior, team.administrator)] == before
    assert exported() == file
    # The number of the next event in the chain would reveal that one is missing before it.
    prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH)
    assert exported() == file
    claim_and_submit(team.annotators[2], item, "reject", reason="Odd.")
    assert sum(json.loads(line)["kind"] == "review.submitted" for line in exported()) == 4


# --- filters and pages ------------------------------------------------------------------------------------------------


def test_filters(team: Team) -> None:
    one, two = (
        make_item(team, "cross_check", external_id="one"),
        make_item(team, "self_check_single", external_id="two"),
    )
    ada = team.administrator
    assert {line.event.dialogue for line in lines(team, ada, item="one")} == {one}
    assert {line.event.dialogue for line in lines(team, ada, item="two")} == {two}
    assert {line.event.actor for line in lines(team, ada, person=team.annotator.public_id)} == {team.annotator}
    assert {line.event.actor for line in lines(team, ada, person="program")} == {None}
    assert kinds(team, ada, family="protocol") == {"protocol.adopted"}
    assert kinds(team, ada, family="review") == {"review.submitted"}
    today = datetime.now(UTC).date()
    assert lines(team, ada, since=today - timedelta(days=1), until=today + timedelta(days=1))
    assert not lines(team, ada, since=today + timedelta(days=2))
    assert not lines(team, ada, until=today - timedelta(days=2))


def test_days_are_the_projects_own(team: Team) -> None:
    change(team, time_zone="Asia/Tokyo")
    event = Event.objects.filter(kind="project.changed").get()
    day = (event.created_at + timedelta(hours=9)).date()
    assert kinds(team, team.administrator, since=day, until=day, family="project") == {"project.changed"}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Los_Angeles"])
def test_days_at_the_ends_of_time_are_days(team: Team, client: Client, zone: str) -> None:
    change(team, time_zone=zone)
    client.force_login(team.administrator)
    for query, found in (
        ({"since": "0001-01-01", "until": "9999-12-31"}, True),
        ({"since": "9999-12-31"}, False),
        ({"until": "0001-01-01"}, False),
    ):
        page = client.get(f"/p/{team.project.slug}/history/", query)
        file = client.get(f"/p/{team.project.slug}/history/events.jsonl", query)
        assert (page.status_code, file.status_code) == (200, 200)
        assert bool(file.getvalue()) == found


def test_what_a_query_may_say(team: Team) -> None:
    asked = {"kind": "review", "person": team.annotator.public_id}
    wanted = history.Filters(family="review", person=team.annotator.public_id)
    assert history.read_filters(asked, project=team.project) == wanted
    assert history.read_filters({"person": "program"}, project=team.project) == history.Filters(person="program")
    for wrong in ({"kind": "nonsense"}, {"person": "x" * 50}):
        with pytest.raises(UnknownFilter, match="Use one of: “"):
            history.read_filters(wrong, project=team.project)
    with pytest.raises(Invalid, match="isn’t a date"):
        history.read_filters({"since": "soon"}, project=team.project)


def test_a_day_that_is_none_is_refused_beside_its_field_with_what_was_typed(team: Team, client: Client) -> None:
    client.force_login(team.administrator)
    url = f"/p/{team.project.slug}/history/"
    typed = {"since": "31.5.2026", "until": "2026-06-01", "item": "one"}
    refused = client.get(url, typed)
    page = one_line(refused)
    assert refused.status_code == 422
    assert page.count("field-error") == 1
    assert "“31.5.2026” isn’t a date" in page
    assert 'name="since" value="31.5.2026" aria-invalid="true"' in page
    assert 'type="date" id="f-until" name="until" value="2026-06-01"' in page
    assert 'name="item" value="one"' in page
    assert "No events match" not in page
    # The part alone has no fields to say it beside.
    sent = client.get(url, typed, headers={"HX-Request": "true", "HX-Target": "results"})
    assert "since=31.5.2026" in sent.headers["HX-Redirect"]
    client.force_login(team.annotator)
    assert client.get(url, typed).status_code == 403


def test_pages_go_forth_and_back_and_cost_the_same(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 5)
    for _ in range(3):
        make_item(team, "cross_check")
    ada, filters, seen, after = team.administrator, history.Filters(), [], None
    counts = set()
    while True:
        with CaptureQueriesContext(connection) as captured:
            page = history.list_events(actor=ada, project=team.project, filters=filters, after=after)
        counts.add(len(captured))
        seen += [line.event.pk for line in page.rows]
        after = page.after
        if after is None:
            break
    assert seen == list(Event.objects.filter(project=team.project).order_by("-pk").values_list("pk", flat=True))
    assert max(counts) <= 4
    back = history.list_events(actor=ada, project=team.project, filters=filters, before=page.before)
    assert [line.event.pk for line in back.rows] == seen[-len(page.rows) - 5 : -len(page.rows)]


def test_what_belongs_to_no_dialogue_is_read_by_an_index_of_its_own(team: Team) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # So few rows are read and sorted faster otherwise; what matters is that this index can answer.
            for way in ("seqscan", "bitmapscan", "sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
    rows = history.visible_events(actor=team.administrator, project=team.project).filter(dialogue=None)
    assert "event_of_no_dialogue" in rows.order_by("-pk")[:50].explain()


# --- the file, and what was tampered with -----------------------------------------------------------------------------


def test_the_file_holds_what_every_hash_was_made_of(team: Team, client: Client) -> None:
    make_item(team, "cross_check")
    client.force_login(team.administrator)
    response = client.get(f"/p/{team.project.slug}/history/events.jsonl")
    rows = [json.loads(line) for line in response.getvalue().splitlines()]
    assert len(rows) == Event.objects.filter(project=team.project).count()
    for row in rows:
        made_of = {key: row[key] for key in row if key not in ("hash", "dialogue", "actor")}
        assert event_digest(**made_of) == row["hash"]


def test_the_hash_of_the_documents_example_is_right() -> None:
    text = (ROOT / "docs/history.md").read_text()
    (example,) = re.findall(r"```json\n(.*)\n```", text)
    (names,) = re.findall(r"^MADE_OF = \((.*)\)$", text, re.MULTILINE)
    event = dict(zip(re.findall(r"\w+", names), json.loads(example), strict=True))
    assert f"`{event_digest(**event)}`" in text
    event["before"]["share"] = 1.0
    assert f"`{event_digest(**event)}`" in text


def checked(lines: list[dict[str, Any]], file: Path) -> tuple[int, list[str]]:
    """Return the result of the program in the docs for a file: its exit code and its lines."""
    (program,) = re.findall(r"```python\n(.*?)\n```", (ROOT / "docs/history.md").read_text(), re.DOTALL)
    file.write_bytes(b"".join(dumps(line) + b"\n" for line in lines))
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_anybody_can_check_an_exported_history_with_the_program_of_the_documents(team: Team, tmp_path: Path) -> None:
    ada, file = team.administrator, tmp_path / "history.jsonl"
    item = make_item(team, "cross_check", external_id="d-é")
    odd = {"ü\u2028\x7f": 'a "b" \\ \n\x01', "ａ": [0.1, 40.0, -0.0, 1e-07, 10**30], "é": {"b": None, "a": True}}
    for one in (item, None):
        append_event(actor=None, project=team.project, dialogue=one, kind="tried.odd", before=odd)
    write_checkpoint(project=team.project, rest=timedelta(hours=-1))
    append_event(actor=ada, project=team.project, kind="tried.late", after={})
    write_checkpoint(project=team.project, rest=timedelta(hours=-1))

    def export(**filters: str) -> list[dict[str, Any]]:
        made = history.export_events(actor=ada, project=team.project, filters=history.Filters(**filters))
        return [json.loads(line) for line in made]

    rows = export()
    assert checked(rows, file) == (0, [f"{len(rows)} events, 0 wrong"])
    assert all(checked([row], file)[0] == 0 for row in rows if row["number"] in (None, 1))
    assert checked(export(item="d-é"), file)[0] == 0
    at = next(place for place, row in enumerate(rows) if row["number"] == 2)
    first = next(place for place, row in enumerate(rows) if row["kind"] == "project.checkpoint")
    loose = next(place for place, row in enumerate(rows) if row["kind"] == "tried.odd" and row["number"] is None)
    broken = f"line {first + 1}: the file lacks events that this checkpoint seals"

    changed_row = deepcopy(rows)
    changed_row[at]["after"]["x"] = 1
    assert checked(changed_row, file) == (1, [f"line {at + 1}: was changed", f"{len(rows)} events, 1 wrong"])
    # Written again with its hash, it does not match the next event.
    made_of = {key: value for key, value in changed_row[at].items() if key not in ("hash", "dialogue", "actor")}
    changed_row[at]["hash"] = event_digest(**made_of)
    code, said = checked(changed_row, file)
    assert (code, said[0]) == (1, f"line {at + 2}: does not follow from the one before it in its dialogue")
    assert broken in said
    gone = rows[:at] + rows[at + 1 :]
    assert checked(gone, file)[1][0] == f"line {at + 1}: 1 earlier events of its dialogue are missing"
    code, said = checked(rows[:loose] + rows[loose + 1 :], file)
    # The next one holds all the same.
    assert said == [broken.replace(f"line {first + 1}", f"line {first}"), f"{len(rows) - 1} events, 0 wrong"]


def unguard(table: str = "annotator_event") -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        else:
            cursor.execute(f"DROP TRIGGER {table}_append_only")


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (lambda events: events.filter(number=2).delete(), "event 2 was removed"),
        (lambda events: events.filter(number__in=[2, 3]).delete(), "events 2 to 3 were removed"),
        (lambda events: events.filter(number=3).update(after={}), "event 3 (stage.settled, "),
    ],
)
def test_the_command_names_what_was_removed_or_changed(
    team: Team, tamper: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    item = make_item(team, "cross_check", external_id="d-one")
    call_command("verify_history", "--project", team.project.slug)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["ok"]
    unguard()
    tamper(Event.objects.filter(dialogue=item))
    with pytest.raises(SystemExit, match="1"):
        call_command("verify_history")
    out = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert not out["ok"]
    assert f"{team.project.slug}: dialogue d-one: {words}" in out["problems"][0]


@pytest.mark.parametrize("with_checksum", [False, True])
def test_content_that_was_changed_in_the_database_shows(
    team: Team, with_checksum: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    item = make_item(team, "cross_check", external_id="d-one")
    text = Revision.objects.get(dialogue=item).content.replace("18", "19")
    fields = {"content": text} | ({"content_hash": content_hash(text)} if with_checksum else {})
    unguard("annotator_revision")
    Revision.objects.filter(dialogue=item).update(**fields)
    with pytest.raises(SystemExit, match="1"):
        call_command("verify_history")
    problem, *others = json.loads(capsys.readouterr().out.splitlines()[-1])["problems"]
    assert [other.rpartition("d-one: ")[2] for other in others] == (
        ["it is listed with the checksum of another revision."] if with_checksum else []
    )
    if with_checksum:
        assert problem.endswith("dialogue d-one: no revision has the content recorded by event 2 (review.submitted).")
    else:
        assert problem.endswith(" does not match its checksum.")
        assert ": dialogue d-one: revision " in problem


def test_a_row_that_repeats_the_history_and_was_changed_shows(team: Team) -> None:
    item, _ = (make_item(team, "expert", external_id=name) for name in ("d-one", "d-two"))
    assert list(history_problems(team.project)) == []
    review = Review.objects.get(dialogue=item, person=team.annotators[1])
    run, slot = review.stage_run, Slot.objects.get(dialogue=item, state="open")
    round_ = f"stage {run.stage} in round 1 of cycle 1"
    made = Review.objects.get(dialogue=item, person=team.annotators[2]).made_revision
    assert made is not None
    for row, change, words in (
        (review, {"verdict": "escalate", "reason": "x"}, f"review {review.public_id} differs from event"),
        (review, {"person": team.annotators[0]}, f"review {review.public_id} differs from event"),
        (review, {"seen_revision": made}, f"review {review.public_id} differs from event"),
        (review, {"public_id": "anotherone22"}, "review anotherone22 has no event"),
        (review.slot, {"state": "open", "holder": None}, f"review {review.public_id} differs from event"),
        (slot, {"state": "done", "holder": team.senior}, f"item {slot.public_id} is done but has no review"),
        (run, {"outcome": "pass"}, f"{round_} differs from event"),
        (run, {"state": "open"}, f"{round_} is missing or unfinished; event"),
        (run, {"exit_revision": made}, f"{round_} differs from event"),
        (run.cycle, {"state": "superseded", "ended_at": timezone.now()}, "cycle 1 differs from event"),
        (item, {"status": "verified"}, "its status differs from event"),
        (item, {"head": made, "content_hash": made.content_hash}, "its newest revision differs from event"),
        (item, {"content_hash": "0" * 64}, "it is listed with the checksum of another revision"),
    ):  # fmt: skip
        with transaction.atomic():
            type(row).objects.filter(pk=row.pk).update(**change)
            problems = list(history_problems(team.project))
            transaction.set_rollback(True)
        assert any(problem.startswith(f"dialogue d-one: {words}") for problem in problems), (change, problems)
        assert not any("d-two" in problem for problem in problems)
    assert list(history_problems(team.project)) == []


def test_whatever_a_review_leads_to_agrees_with_its_history(team: Team) -> None:
    approved, fixed = make_item(team, "cross_check"), make_item(team, "self_check_single")
    for person in team.annotators[1:]:
        claim_and_submit(person, approved, "approve")
    claim_and_submit(team.annotator, fixed, "fix", document=changed(current(fixed)))
    rejected, anew = make_item(team, "expert"), make_item(team, "expert")
    claim_and_submit(team.senior, rejected, "reject", reason="Not worth it.")
    supersede_cycle(actor=team.administrator, dialogue=anew, reason="Once more.", force=True)
    assert list(history_problems(team.project)) == []


def test_tools_that_were_changed_in_the_database_show(team: Team) -> None:
    make_item(team, "cross_check")
    unguard("annotator_toolsetrevision")
    tools = ToolsetRevision.objects.get(project=team.project)
    ToolsetRevision.objects.filter(pk=tools.pk).update(content=tools.content.replace("city", "town"))
    assert list(history_problems(team.project)) == ["toolset weather: revision 1 does not match its checksum"]


def test_tools_that_were_changed_together_with_their_checksum_show(team: Team) -> None:
    batch = begin_import(team, as_lines([candidate("d-one")]))
    assert jobs.run(batch.job_id).state == "done"
    tools = [{"name": "find_ferry", "parameters": {"properties": {}}}]
    ensure_toolset_revision(actor=team.administrator, project=team.project, tools=tools, name="ferries")
    assert list(history_problems(team.project)) == []
    unguard("annotator_toolsetrevision")
    for version in ToolsetRevision.objects.filter(project=team.project):
        text = version.content.replace("city", "town").replace("ferry", "boat")
        assert text != version.content
        ToolsetRevision.objects.filter(pk=version.pk).update(content=text, content_hash=content_hash(text))
    imported = Dialogue.objects.get(external_id="d-one").head.toolset_revision.toolset  # type: ignore[union-attr]
    assert list(history_problems(team.project)) == [
        "dialogue d-one: the toolset is not the one recorded by event 1 (dialogue.imported)",
        "toolset ferries: no revision has the content that was added",
        f"toolset {imported.name}: no revision has the content that was imported",
    ]


def test_a_protocol_or_a_draw_that_was_changed_shows(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    assert list(history_problems(team.project)) == []
    version = ProtocolVersion.objects.get(project=team.project)
    ProtocolVersion.objects.update(definition=version.definition.replace("0.1", "0.9"))
    Draw.objects.update(seed="0" * 64)
    assert list(history_problems(team.project)) == [
        "version 1 of the protocol differs from the adopted one",
        "draw 1 of expert differs from its record in the history",
    ]


def test_checking_the_history_holds_a_portion_in_memory(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_checks, "PORTION", 2)
    for _ in range(5):
        make_item(team, "self_check_multi")
    sizes: list[int] = []
    looks = (history_checks.chain_problems, history_checks.content_problems, *history_checks.RECORDS)

    def counted(look: Any) -> Any:
        return lambda keys: (sizes.append(len(keys)), look(keys))[1]

    for name, look in zip(("chain_problems", "content_problems"), looks, strict=False):
        monkeypatch.setattr(history_checks, name, counted(look))
    monkeypatch.setattr(history_checks, "RECORDS", [counted(look) for look in looks[2:]])
    assert list(history_checks.history_problems(team.project)) == []
    assert sizes == [2] * 6 + [1] * 3


def test_a_setting_that_was_written_over_shows(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    unguard()
    Event.objects.filter(project=team.project, kind="protocol.adopted").update(after={"number": 1, "preset": "wild"})
    with pytest.raises(SystemExit, match="1"):
        call_command("verify_history")
    [problem] = json.loads(capsys.readouterr().out.splitlines()[-1])["problems"]
    assert "of the project (protocol.adopted, " in problem


def test_the_page_checks_by_a_job_and_names_what_is_missing(
    team: Team, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_checks, "PORTION", 1)
    first, _ = make_item(team, "cross_check", external_id="d-one"), make_item(team, "cross_check", external_id="d-two")
    address = f"/p/{team.project.slug}/history/"

    def check() -> str:
        assert client.post(address).status_code == 302
        # Asked for twice, done once.
        assert client.post(address).status_code == 302
        [job] = Job.objects.filter(kind=history_checks.JOB, ended_at=None)
        assert "History check" in one_line(client.get(address))
        assert jobs.run(job.pk).state == "done"
        return one_line(client.get(address))

    client.force_login(team.administrator)
    assert "No problems found" in check()
    unguard()
    Event.objects.filter(dialogue=first, number=2).delete()
    Event.objects.filter(project=team.project, kind="protocol.adopted").update(after={"number": 1})
    page = check()
    assert "2 problems in" in page
    assert "Dialogue d-one: event 2 was removed." in page
    assert "of the project (protocol.adopted" in page
    client.force_login(team.senior)
    assert client.post(address).status_code == 403
    assert "was removed" not in one_line(client.get(address))


def test_a_chains_end_is_missed_by_the_checkpoint(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    item = make_item(team, "self_check_multi")
    write_checkpoint(project=team.project, rest=timedelta(seconds=-60))
    unguard()
    Event.objects.filter(dialogue=item).latest("number").delete()
    with pytest.raises(SystemExit, match="1"):
        call_command("verify_history")
    *others, problem = json.loads(capsys.readouterr().out.splitlines()[-1])["problems"]
    assert "1 fewer events than the" in problem
    # The row that it described still exists.
    assert "stage self_check_single in round 1 of cycle 1 has no event" in others[0]
