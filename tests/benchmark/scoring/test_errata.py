"""Errata of releases: reports, decisions, the log, what reviewers must not learn, and the public page."""

import io
import json
from unittest.mock import patch

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Membership, Notice, Role
from annotator.services.jobs import jobs
from benchmark.core.archives.errata import verify_errata
from benchmark.management.commands.verify_release import Command
from benchmark.models import EntryStatistic, Erratum, ErratumReport, Recount, Release, Run, SentBack
from benchmark.services.releases import errata as reports
from benchmark.services.releases.requests import archive_path
from benchmark.services.runs import boards, suspects, withdrawn
from benchmark.services.runs import errata as decisions
from reviews.models import Cycle
from tests.api_client import ApiClient
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import claim_and_submit, make_user
from tests.languages import add_german
from tests.racing import lost, race, won

TEXT = "The reference asks for the weather in Ghent, but the user means Bruges."


@pytest.fixture
def report(team, release):
    return reports.report_item(actor=team.annotator, release=release, item="weather-1", text=TEXT, place="/tasks/t1")


def confirm(team, report, **options):
    given = {"severity": "major", "reason": "The city is wrong.", "evidence": "Two papers say so."} | options
    return decisions.confirm_report(actor=team.administrator, report=report, wake_worker=False, **given)


def browser(person):
    client = Client()
    client.force_login(person)
    return client


def page(name, release, *more):
    return reverse(name, args=[release.project.slug, release.public_id, *more])


def verify_again(team, dialogue):
    for person, verdict in (
        (team.annotator, "approve"), (team.annotator, "approve"), (team.annotators[1], "approve"),
        (team.annotators[2], "approve"),
    ):  # fmt: skip
        claim_and_submit(person, dialogue, verdict)
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"


# --- decisions and the log -------------------------------------------------------------------------------------------


def test_a_confirmed_report_is_in_the_log_and_the_item_in_review(team, release, report, tmp_path):
    before = archive_path(release).read_bytes()
    erratum = confirm(team, report)
    report.refresh_from_db()
    release.refresh_from_db()
    assert (report.state, report.decided_by, report.reopened) == ("confirmed", team.administrator, True)
    assert (release.errata_count, release.errata_head) == (1, erratum.sha256)
    dialogue = report.item.dialogue
    dialogue.refresh_from_db()
    assert dialogue.status == "in_review"
    (job,) = Recount.objects.all()
    jobs.run(job.job_id)
    file = tmp_path / "errata.jsonl"
    file.write_bytes(b"".join(reports.read_log(actor=team.administrator, release=release)))
    record = json.loads(file.read_bytes())
    assert record | {"sha256": "", "date": ""} == {
        "number": 1, "release": "1.0", "archive_sha256": release.sha256, "item": "weather-1", "place": "/tasks/t1",
        "severity": "major", "reason": "The city is wrong.", "evidence": "Two papers say so.", "previous_sha256": "",
        "date": "", "sha256": "",
    }  # fmt: skip
    second = reports.report_item(actor=None, release=release, item="weather-2", text="Typing error.")
    assert json.loads(confirm(team, second, severity="minor").line)["previous_sha256"] == erratum.sha256
    file.write_bytes(b"".join(reports.read_log(actor=team.administrator, release=release)))
    release.refresh_from_db()
    found = verify_errata(file, archive_path(release), head=release.errata_head)
    assert (found.errata, found.items, found.problems) == (2, 2, [])
    # The frozen archive stays as it was.
    assert archive_path(release).read_bytes() == before
    kinds = Event.objects.filter(kind__startswith="erratum.").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["erratum.reported", "erratum.confirmed"] * 2
    # Neither the log nor an event names who reported it.
    assert team.annotator.username not in file.read_text()


def test_a_declined_report_changes_nothing_else(team, release, report):
    decisions.decline_report(actor=team.administrator, report=report, reason="The user says Ghent.")
    report.refresh_from_db()
    assert (report.state, report.reason) == ("declined", "The user says Ghent.")
    assert not Erratum.objects.exists()
    assert withdrawn.withdrawn_items(release) == []
    for decide in (
        lambda: confirm(team, report),
        lambda: decisions.decline_report(actor=team.administrator, report=report, reason="Again."),
    ):
        with pytest.raises(Conflict, match="is declined"):
            decide()


def test_what_is_missing_or_wrong_is_refused_with_the_field(team, release, report):
    for field, options in (
        ("severity", {"severity": "huge"}), ("reason", {"reason": " \n"}), ("reason", {"reason": "x" * 4_001}),
        ("evidence", {"evidence": "x\0"}), ("place", {"place": "x" * 601}),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            confirm(team, report, **options)
        assert refused.value.details["field"] == field
    with pytest.raises(Invalid, match="no item “weather-9”"):
        reports.report_item(actor=None, release=release, item="weather-9", text="?")
    with pytest.raises(Invalid):
        decisions.decline_report(actor=team.administrator, report=report, reason="")
    release.state = "freezing"
    with pytest.raises(Conflict, match="isn’t frozen"):
        reports.report_item(actor=None, release=release, item="weather-1", text="?")


def test_the_same_erratum_is_added_once(team, release, client):
    add = page("erratum-add", release)
    sent = {"item": "weather-1", "severity": "minor", "reason": "A typing error.", "place": "", "evidence": ""}
    assert client.post(add, sent).status_code == 302
    again = client.post(add, sent)
    assert again.status_code == 422
    assert "Erratum 1 of this release says the same about weather-1" in again.content.decode()
    assert (Erratum.objects.count(), ErratumReport.objects.count()) == (1, 1)
    for changed in ({"item": "weather-2"}, {"severity": "major"}, {"evidence": "A paper."}):
        assert client.post(add, sent | changed).status_code == 302
    first = Erratum.objects.get(number=1)
    report = reports.report_item(actor=None, release=release, item="weather-1", text="?")
    with pytest.raises(IntegrityError), transaction.atomic():
        Erratum.objects.create(
            release=release, number=9, item=first.item, report=report, line=first.line, sha256=first.sha256,
            content_sha256=first.content_sha256,
        )  # fmt: skip


def test_only_administrators_decide(team, release, report):
    added = {"release": release, "item": "weather-1", "severity": "minor", "reason": "x"}
    for actor in (team.annotator, team.seniors[0]):
        for act, given in (
            (decisions.confirm_report, {"report": report, "severity": "minor", "reason": "x"}),
            (decisions.decline_report, {"report": report, "reason": "x"}),
            (decisions.add_erratum, added), (reports.open_link, {"release": release}),
            (reports.close_link, {"release": release}),
        ):  # fmt: skip
            with pytest.raises(Denied):
                act(actor=actor, **given)
    assert reports.load_report(actor=team.seniors[0], release=release, public_id=report.public_id) == report
    with pytest.raises(Denied):
        reports.load_report(actor=team.annotator, release=release, public_id=report.public_id)


def test_the_database_refuses_to_change_the_log(team, report):
    erratum = confirm(team, report)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Erratum.objects.filter(pk=erratum.pk).update(line="{}")


def test_history_checks_notice_a_log_that_was_changed_all_the_same(team, release, report):
    confirm(team, report)
    assert list(reports.errata_problems(team.project)) == []
    Release.objects.filter(pk=release.pk).update(errata_head="0" * 64)
    (problem,) = reports.errata_problems(team.project)
    assert "ends with another hash" in problem
    with connection.cursor() as cursor:
        on = " ON benchmark_erratum" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER benchmark_erratum_append_only{on}")
    Erratum.objects.update(line=Erratum.objects.get().line.replace("major", "minor"))
    assert "line 1 was changed" in next(reports.errata_problems(team.project))


def test_postgresql_refuses_to_delete_a_line_of_the_log_and_checks_find_it_on_sqlite(team, report):
    rows = Erratum.objects.filter(pk=confirm(team, report).pk)
    if connection.vendor == "postgresql":
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            rows.delete()
    else:
        rows.delete()
        (problem,) = reports.errata_problems(team.project)
        assert "has 0 of 1 lines" in problem


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_administrators_at_once_one_decides(team, release, report):
    other = make_user()
    Membership.objects.create(project=team.project, user=other, role=Role.ADMINISTRATOR)
    results = race(
        lambda: confirm(team, report),
        lambda: decisions.decline_report(actor=other, report=report, reason="No."),
    )
    assert len(won(results)) == 1
    assert isinstance(lost(results)[0], Conflict)
    names = ("weather-2", "weather-3")
    others = [reports.report_item(actor=None, release=release, item=name, text="?") for name in names]
    results = race(*(lambda one=one: confirm(team, one) for one in others))
    assert lost(results) == []
    release.refresh_from_db()
    numbers = list(Erratum.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, release.errata_count + 1))


# --- the item that is reviewed again ---------------------------------------------------------------------------------


def test_an_item_that_is_already_in_review_or_changed_is_confirmed_all_the_same(
    team, release, report, settings, tmp_path
):
    confirm(team, report)
    again = reports.report_item(actor=None, release=release, item="weather-1", text="Another error.")
    confirm(team, again)
    again.refresh_from_db()
    assert not again.reopened
    assert "in review already" in again.why_not_reopened
    changed = reports.report_item(actor=None, release=release, item="weather-2", text="An error.")
    revision = changed.item.dialogue.head
    other = make_verified(team, "other").head
    changed.item.dialogue.head = other
    changed.item.dialogue.save(update_fields=["head"])
    confirm(team, changed)
    changed.refresh_from_db()
    # Stored as a code, so that each reader sees it in their language.
    assert (changed.not_reopened, changed.why_not_reopened) == ("changed", "It has other content than in the release.")
    shown = browser(team.administrator).get(page("erratum-decide", release, changed.public_id)).content.decode()
    assert "It has other content than in the release." in shown
    add_german(settings, tmp_path, {"It has other content than in the release.": "Der Inhalt ist ein anderer."})
    with translation.override("de"):
        assert changed.why_not_reopened == "Der Inhalt ist ein anderer."
    ErratumReport.objects.filter(pk=changed.pk).update(not_reopened="x has other content.")
    assert ErratumReport.objects.get(pk=changed.pk).why_not_reopened == "x has other content."
    assert revision != other
    assert Cycle.objects.filter(dialogue=changed.item.dialogue).count() == 1


def test_its_scores_stay_left_out_when_it_is_verified_again(team, release, report, score, predictions_of):
    score(predictions_of("m", wrong=("weather-1",)))
    confirm(team, report)
    dialogue = report.item.dialogue
    dialogue.refresh_from_db()
    verify_again(team, dialogue)
    assert withdrawn.withdrawn_items(release) == [report.item_id]
    jobs.run(Recount.objects.get().job_id)
    (row,) = boards.leaderboard(release, {}).rows
    assert row.figures["right", "all"].value < 1.0
    assert row.figures[boards.KEPT].value == 1.0


def test_reviewers_learn_that_an_error_was_confirmed_and_not_which(team, release, report):
    reviewer, senior = browser(team.annotators[1]), browser(team.seniors[0])
    download = page("errata-download", release)
    confirm(team, report)
    dialogue = report.item.dialogue
    cycle = Cycle.objects.filter(dialogue=dialogue).latest("number")
    assert cycle.reason == "An error in this item of release 1.0 was reported and confirmed."
    assert "city" not in json.dumps(list(Event.objects.values_list("after", flat=True)))
    refused = reviewer.get(download)
    assert refused.status_code == 409
    assert "must not know" in refused.content.decode()
    assert b"The city is wrong." in b"".join(senior.get(download).streaming_content)
    detail = reviewer.get(page("release-detail", release)).content.decode()
    assert "1 confirmed erratum" in detail
    assert "The city is wrong." not in detail
    dialogue.refresh_from_db()
    verify_again(team, dialogue)
    assert b"The city is wrong." in b"".join(reviewer.get(download).streaming_content)


# --- from scores -----------------------------------------------------------------------------------------------------


@pytest.fixture
def suspect(release, score, predictions_of):
    lines = predictions_of("good") + [
        line for name in "abc" for line in predictions_of(name, wrong=("weather-1",), task=0)
    ]
    score(lines)
    return EntryStatistic.objects.get(entry="weather-1#0")


def test_one_click_from_an_entry_fills_the_form_with_the_evidence(team, release, suspect, client):
    entry = client.get(page("entry-detail", release, suspect.pk)).content.decode()
    form = f"{page('erratum-add', release)}?entry={suspect.pk}"
    assert form in entry
    shown = client.get(form).content.decode()
    assert 'value="weather-1"' in shown
    assert "right in 1 of 4 runs" in shown
    assert "run “a” #1, run “b” #1, run “c” #1: wrong" in shown
    assert "No." in shown
    run = Run.objects.get(model="b")
    wrong = run.score_sets.get().scores.get(entry="weather-1#0")
    of_run = client.get(reverse("run-entry", args=[team.project.slug, run.public_id, wrong.pk])).content.decode()
    assert f"{form}&amp;score={wrong.pk}" in of_run
    assert "run “b” #1: wrong" in client.get(f"{form}&score={wrong.pk}").content.decode()
    assert client.get(f"{form}&score=999999").status_code == 404
    senior = browser(team.seniors[0])
    assert form not in senior.get(page("entry-detail", release, suspect.pk)).content.decode()
    sent = {"item": "weather-1", "severity": "major", "reason": "The city is wrong.", "evidence": "Runs agree."}
    assert client.post(form, sent | {"severity": ""}).status_code == 422
    assert client.post(form, sent).status_code == 302
    # As if it was sent back from its scores: reviewers see the answers after the review.
    assert SentBack.objects.get().statistic == suspect
    assert not suspects.sent_back_to(actor=team.annotator, dialogue=suspect.item.dialogue)
    again = client.post(form, sent)
    assert again.status_code == 422
    assert "has a confirmed erratum already" in again.content.decode()
    assert Erratum.objects.count() == 1


# --- pages -----------------------------------------------------------------------------------------------------------


def test_an_administrator_decides_beside_the_released_item(team, release, report, client):
    board = client.get(page("errata-list", release)).content.decode()
    decide = page("erratum-decide", release, report.public_id)
    assert decide in board
    assert "weather-1" not in client.get(page("errata-list", release), {"state": "declined"}).content.decode()
    shown = client.get(decide).content.decode()
    assert report.item.revision.document()["tasks"][0]["user_message"] in shown
    assert TEXT in shown
    assert client.post(decide, {"no-reason": "", "decline": "1"}).status_code == 422
    assert client.post(decide, {"severity": "critical", "reason": "Wrong."}).status_code == 302
    after = client.get(decide).content.decode()
    assert Erratum.objects.get().sha256 in after
    assert "Confirm the error" not in after
    assert client.post(decide, {"no-reason": "Late.", "decline": "1"}).status_code == 422
    for name in ("release-detail", "release-list", "score-board"):
        arguments = [team.project.slug] if name == "release-list" else [team.project.slug, release.public_id]
        html = client.get(reverse(name, args=arguments)).content.decode()
        assert "1 confirmed erratum" in html or "1 erratum" in html
        assert page("errata-download", release) in html
    assert release.__class__.objects.get().errata_head in client.get(page("release-detail", release)).content.decode()


def test_members_report_on_a_page(team, release):
    member = browser(team.annotator)
    url = page("error-report", release)
    received = member.post(url, {"item": "weather-1", "text": TEXT})
    assert received.status_code == 200
    assert "Your report was received" in received.content.decode()
    assert ErratumReport.objects.get().reporter == team.annotator
    assert "no item" in member.post(url, {"item": "weather-9", "text": TEXT}).content.decode()


def test_forms_open_for_frozen_releases_only(team, release, client):
    Release.objects.update(state="freezing")
    for name in ("error-report", "erratum-add"):
        refused = client.get(page(name, release))
        assert refused.status_code == 409
        assert "isn’t frozen" in refused.content.decode()


def test_line_breaks_of_browsers_count_once(team, release):
    # 4,000 characters, of which 50 are line breaks: browsers send two characters for each.
    text = "\n".join(["x" * 79] * 49 + ["x" * 80])
    sent = text.replace("\n", "\r\n")
    assert len(text) == reports.MAX_TEXT
    for person, decision in (
        (team.annotator, {"severity": "minor", "reason": sent}), (team.seniors[0], {"no-reason": sent, "decline": "1"}),
    ):  # fmt: skip
        assert (
            browser(person).post(page("error-report", release), {"item": "weather-1", "text": sent}).status_code == 200
        )
        report = ErratumReport.objects.get(reporter=person)
        assert report.text == text
        decide = page("erratum-decide", release, report.public_id)
        assert browser(team.administrator).post(decide, decision).status_code == 302
    assert Erratum.objects.get().record["reason"] == ErratumReport.objects.get(state="declined").reason == text
    too_long = {"item": "weather-1", "text": sent + "x"}
    assert browser(team.annotator).post(page("error-report", release), too_long).status_code == 422


def test_the_public_page_takes_reports_while_its_link_is_on(team, release, client):
    share, anyone = page("errata-share", release), Client()
    assert client.post(share).status_code == 302
    link = reverse("shared-errata", args=[release.errata_link.token])
    shown = anyone.get(link)
    assert shown.headers["X-Robots-Tag"] == "noindex"
    for secret in ("weather-1", "Ghent", team.administrator.username, release.public_id):
        assert secret not in shown.content.decode()
    received = anyone.post(link, {"item": "weather-1", "text": "<b>Wrong</b>"}).content.decode()
    assert "Your report was received" in received
    assert "&lt;b&gt;Wrong" in received
    report = ErratumReport.objects.get()
    assert (report.reporter, report.public_id in received) == (None, True)
    for sent, said in (
        ({"item": "weather-9", "text": "?"}, "Copy the id from items.jsonl"), ({"item": "weather-1"}, "required"),
        ({"item": "weather-1", "text": "x" * 4_001}, "at most 4,000"),
    ):  # fmt: skip
        refused = anyone.post(link, sent)
        assert refused.status_code == 422
        assert said in refused.content.decode().replace("4000", "4,000")
    # After five reports from one address, each further one has to wait.
    anyone.post(link, {"item": "weather-1", "text": "?"})
    count = ErratumReport.objects.count()
    refused = anyone.post(link, {"item": "weather-1", "text": "?"})
    assert "Too many attempts. Wait" in refused.content.decode()
    assert ErratumReport.objects.count() == count
    client.post(share, {"end": "1"})
    gone = anyone.get(link)
    assert gone.status_code == 404
    assert "it was switched off" in gone.content.decode()
    with pytest.raises(Hidden):
        reports.load_linked("\0")


def test_administrators_get_one_notice_of_reports_that_wait(team, release):
    for reporter in (team.annotator, None):
        reports.report_item(actor=reporter, release=release, item="weather-1", text=TEXT)
    (notice,) = Notice.objects.filter(key__startswith="erratum")
    assert (notice.person, notice.kind) == (team.administrator, "alarm")
    assert notice.text == "Somebody reported an error in release 1.0."
    assert browser(team.administrator).get(notice.target).status_code == 200
    notice.read_at = timezone.now()
    notice.save()
    # An erratum that an administrator adds waits for nothing.
    add = {"release": release, "item": "weather-2", "severity": "minor", "reason": "?", "wake_worker": False}
    decisions.add_erratum(actor=team.administrator, **add)
    assert Notice.objects.filter(read_at=None, key__startswith="erratum").count() == 0


def test_pages_of_releases_count_open_reports(team, release, report, client):
    pages = (page("release-detail", release), reverse("release-list", args=[team.project.slug]))
    for url in pages:
        assert "1 open report" in client.get(url).content.decode()
        # Annotators may review the item.
        assert "open report" not in browser(team.annotator).get(url).content.decode()
    with CaptureQueriesContext(connection) as one:
        client.get(pages[1])
    later = run_release(team, "1.1")
    for _ in range(2):
        reports.report_item(actor=None, release=later, item="weather-1", text=TEXT)
    with CaptureQueriesContext(connection) as two:
        html = client.get(pages[1]).content.decode()
    assert "1 open report" in html
    assert "2 open reports" in html
    assert len(two) == len(one)
    decisions.decline_report(actor=team.administrator, report=report, reason="No.")
    assert "open report" not in client.get(pages[0]).content.decode()


def test_the_history_has_reports_and_says_who_made_them(team, release, report, client):
    link = reports.open_link(actor=team.administrator, release=release)
    Client().post(reverse("shared-errata", args=[link.token]), {"item": "weather-2", "text": TEXT})
    history = f"/p/{team.project.slug}/history/"
    first, second = client.get(history, {"kind": "erratum"}).content.decode().split("Error reported in ")[1:]
    assert "weather-2" in first
    assert "Public link" in first.partition("</summary>")[0]
    assert "weather-1" in second
    assert "Public link" not in second.partition("</summary>")[0]
    assert "switched on" in client.get(history, {"kind": "errata"}).content.decode()
    # Somebody outside reported it, not Assay.
    assert "Error reported" not in client.get(history, {"person": "program"}).content.decode()


def test_reports_that_wait_are_limited(team, release):
    with patch.object(reports, "MAX_OPEN", 2):
        for _ in range(2):
            report = reports.report_item(actor=None, release=release, item="weather-1", text="?")
        with pytest.raises(Conflict, match="2 public reports"):
            reports.report_item(actor=None, release=release, item="weather-1", text="?")
        reports.report_item(actor=team.annotator, release=release, item="weather-1", text="?")
        decisions.decline_report(actor=team.administrator, report=report, reason="No.")
        reports.report_item(actor=None, release=release, item="weather-1", text="?")


# --- API and command -------------------------------------------------------------------------------------------------


def test_the_api_reports_decides_and_has_the_log(team, release):
    member, administrator = ApiClient(team.annotator), ApiClient(team.administrator)
    base = f"/api/projects/{team.project.slug}/releases/{release.public_id}/"
    sent = member.send(f"{base}errata/reports/", {"item": "weather-1", "text": TEXT})
    assert (sent.status_code, sent.json()["item"]) == (201, "weather-1")
    key = sent.json()["public_id"]
    (listed,) = administrator.get(f"{base}errata/reports/?state=open").json()["results"]
    assert (listed["public_id"], listed["state"], listed["erratum"]) == (key, "open", None)
    confirmed = administrator.send(
        f"{base}errata/reports/{key}/confirm/", {"severity": "major", "reason": "Wrong."}
    ).json()
    assert (confirmed["state"], confirmed["reopened"], confirmed["erratum"]["number"]) == ("confirmed", True, 1)
    declined = administrator.send(f"{base}errata/reports/{key}/decline/", {"reason": "No."})
    assert declined.status_code == 409
    found = administrator.get(base).json()
    assert (found["errata_count"], found["errata_head"]) == (1, confirmed["erratum"]["sha256"])
    lines = b"".join(administrator.get(f"{base}errata.jsonl").streaming_content)
    assert json.loads(lines) == confirmed["erratum"]
    assert member.get(f"{base}errata.jsonl").status_code == 409


def test_the_command_checks_the_log_with_the_archive(team, release, report, tmp_path):
    file, archive = tmp_path / "errata.jsonl", archive_path(release)
    file.write_bytes(b"")
    confirm(team, report)
    head = Release.objects.get().errata_head
    # The command closes the connection to the database.
    content = b"".join(reports.read_log(actor=team.administrator, release=release))
    other = archive_path(run_release(team, "1.1"))

    def run(*arguments):
        out, said = io.StringIO(), io.StringIO()
        command = Command(stdout=out, stderr=said)
        code = 0
        try:
            command.run_from_argv(["manage.py", "verify_release", *map(str, arguments)])
        except SystemExit as end:
            code = end.code
        last = out.getvalue().splitlines()
        return code, json.loads(last[-1]) if last else {}, said.getvalue()

    # Without the last hash, an empty log of a release that has errata looks whole.
    code, result, said = run(archive, "--errata", file)
    assert (code, result["errata"], result["errata_items"]) == (0, 0, 0)
    code, result, said = run(archive, "--errata", file, "--errata-head", head)
    assert (code, result["ok"]) == (1, False)
    assert "missing at its end" in said
    file.write_bytes(content)
    code, result, said = run(archive, "--errata", file, "--errata-head", head)
    assert (code, result["errata"], result["errata_items"], result["errata_head"]) == (0, 1, 1, head)
    code, result, said = run(other, "--errata", file)
    assert code == 1
    assert "Use the log of this archive" in said
    assert "Give the log with --errata" in run(archive, "--errata-head", head)[2]
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(archive.read_bytes()[:-40])
    code, result, said = run(damaged, "--errata", file)
    assert (code, "errata" in result) == (1, False)
    assert "The errata log was not checked, because the archive is damaged" in said
