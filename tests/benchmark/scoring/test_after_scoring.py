"""What follows scores: attempts, withdrawn items, newer scorers, and what reviewers see of the answers."""

import os
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.errors import Conflict, Denied
from annotator.models import Dialogue, Job, JobState, Membership, Role
from annotator.services.jobs import jobs, retention
from benchmark.core.scoring import scoring_run
from benchmark.models import EntryStatistic, Figure, Mode, Recount, Run, Score, ScoreSet, SentBack
from benchmark.services.runs import boards, rescoring, sharing, suspects, withdrawn
from benchmark.services.runs.entries import items_by_name
from benchmark.services.runs.scoring import count_attempts
from benchmark.services.stored_files import full_path
from reviews.models import DrawItem
from reviews.services.sampling.draws import close_population_and_draw
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.scoring.scoring_cases import prediction, said
from tests.factories import adopt_c3, claim_and_submit, make_document, make_user
from tests.racing import race


def figures(run, *names):
    sets = run.score_sets.order_by("-version").first()
    return {
        (one.name, one.cell): (one.n, round(one.value, 6)) for one in sets.figures.all() if one.name in names
    }  # fmt: skip


# --- attempts --------------------------------------------------------------------------------------------------------


def test_attempts_of_a_model_have_pass_k_and_best_of_k(score, predictions_of):
    entries = len(predictions_of("m"))
    for wrong in ((), ("weather-1",), ("weather-1", "weather-2")):
        score(predictions_of("m", wrong=wrong), filename=f"{len(wrong)}.jsonl")
        if wrong == ("weather-1",):
            # By hand, of three dialogues with as many entries each: two are right in both attempts, one in one.
            assert over_attempts() == {
                ("pass^k", "2"): (entries, round(2 / 3, 6)), ("best of k", "2"): (entries, 1.0),
            }  # fmt: skip
    # Of three attempts, the dialogues have 1, 2 and 3 right: (0 + 1/3 + 1) / 3, and 1 - (1/3 + 0 + 0) / 3.
    expected = {
        ("pass^k", "2"): (entries, round(4 / 9, 6)), ("best of k", "2"): (entries, round(8 / 9, 6)),
        ("pass^k", "3"): (entries, round(1 / 3, 6)), ("best of k", "3"): (entries, 1.0),
    }  # fmt: skip
    assert over_attempts() == expected
    score(predictions_of("other"), filename="other.jsonl")
    other = Run.objects.get(model="other").score_sets.get()
    for run in Run.objects.filter(model="m"):
        found, runs = boards.figures_over_attempts(run.score_sets.get())
        assert (len(found), runs) == (4, 3)
        versus = boards.compare_runs(other, run.score_sets.get())
        compared = [(cell, one) for name, cell, one, second in versus.cells if name == "pass^k" and second]
        assert compared == [("2", None), ("3", None)]
    # The order in which attempts are scored makes no difference.
    with transaction.atomic():
        count_attempts(Run.objects.get(model="m", attempt=1).score_sets.get())
    assert over_attempts() == expected


def over_attempts():
    rows = Figure.objects.filter(name__in=("pass^k", "best of k"))
    return {(one.name, one.cell): (one.n, round(one.value, 6)) for one in rows}


def test_other_modes_are_no_attempts(score, predictions_of):
    score(predictions_of("m"))
    score(predictions_of("m"), filename="2.jsonl", mode=Mode(thinking="on"))
    assert list(Run.objects.values_list("attempt", flat=True)) == [1, 1]
    assert not Figure.objects.filter(name="pass^k").exists()


# --- withdrawn items -------------------------------------------------------------------------------------------------


@pytest.fixture
def suspect(release, score, predictions_of):
    """An entry that three of four runs answer in the same other way."""
    lines = predictions_of("good") + [
        line for name in "abc" for line in predictions_of(name, wrong=("weather-1",), task=0)
    ]
    assert score(lines).job.state == "done"
    return EntryStatistic.objects.get(entry="weather-1#0")


def kept(run):
    return figures(run, "kept").get(boards.KEPT)


def test_items_that_are_sent_back_are_left_out_beside_the_whole(team, release, suspect, score, predictions_of):
    entries = ScoreSet.objects.first().entries
    gone = EntryStatistic.objects.filter(item=suspect.item).count()
    assert withdrawn.withdrawn_items(release) == []
    suspects.send_back(actor=team.administrator, statistic=suspect)
    assert withdrawn.withdrawn_items(release) == [suspect.item_id]
    recount = Recount.objects.get()
    jobs.run(recount.job_id)
    recount.refresh_from_db()
    assert (recount.items, recount.complete) == ([suspect.item_id], True)
    for run in Run.objects.all():
        assert kept(run) == (entries - gone, 1.0)
    board = boards.leaderboard(release, {})
    assert boards.KEPT in board.columns
    assert not any(one.startswith("kept") for one in board.slices)
    assert [row.figures["right", "all"].n for row in board.rows] == [entries] * 4
    # A run that is scored later has the figure, too.
    score(predictions_of("later", wrong=("weather-2",)), filename="later.jsonl")
    later = Run.objects.get(model="later")
    assert kept(later) == (entries - gone, 0.5)


def test_an_item_that_is_verified_again_unchanged_counts_again(team, release, suspect):
    dialogue = suspects.send_back(actor=team.administrator, statistic=suspect)
    jobs.run(Recount.objects.get().job_id)
    verify_again(team, dialogue)
    assert withdrawn.withdrawn_items(release) == []
    recount = withdrawn.start_recount(actor=team.administrator, release=release, wake_worker=False)
    jobs.run(recount.job_id)
    assert [kept(run) for run in Run.objects.all()] == [None] * 4
    with pytest.raises(Denied):
        withdrawn.start_recount(actor=team.seniors[0], release=release)


def test_entries_that_no_run_answered_are_left_out_with_their_item(team, score):
    for name in ("two-1", "two-2"):
        make_verified(team, name, make_document(name, tasks=2))
    release = run_release(team, "2.0", native_format="wild")
    answered = [("two-1", 0), ("two-2", 0), ("two-2", 1)]
    score([prediction(*entry, [said("No.")], "m") for entry in answered], release=release)
    assert ScoreSet.objects.get().entries == 4
    unanswered = EntryStatistic.objects.get(entry="two-1#1")
    assert unanswered.item.dialogue.external_id == "two-1"
    suspects.send_back(actor=team.administrator, statistic=unanswered)
    jobs.run(Recount.objects.get().job_id)
    assert kept(Run.objects.get()) == (2, 0.5)
    client = Client()
    client.force_login(team.administrator)
    missed = ScoreSet.objects.get().scores.get(entry="two-1#1")
    page = client.get(reverse("run-entry", args=[team.project.slug, Run.objects.get().public_id, missed.pk]))
    assert "The reference" in page.content.decode()
    # The difference from the whole would tell reviewers who know the public link which runs agree with the reference.
    assert boards.KEPT in boards.leaderboard(release, {}).columns
    token = sharing.share_board(actor=team.administrator, release=release).token
    for name in ("shared-scores", "shared-table"):
        assert "Without withdrawn" not in client.get(reverse(name, args=[token])).content.decode()
    assert client.get(reverse("shared-scores", args=[token]), {"sort": "kept|all"}).status_code == 400


def test_variants_of_a_dialogue_are_told_apart_by_language(team):
    for language in ("en", "zh"):
        make_verified(team, f"w-{language}", variant_group="w")
    release = run_release(team)
    Dialogue.objects.filter(external_id="w-zh").update(language="zh")
    by_language = dict(release.items.values_list("dialogue__language", "pk"))
    assert {one: items_by_name(release, "wild", one) for one in ("en", "zh")} == {
        "en": {"w": by_language["en"]}, "zh": {"w": by_language["zh"]},
    }  # fmt: skip
    assert items_by_name(release, "wild", "")["w"] == by_language["en"]
    # Cases and composites have entries of their own, whatever their group.
    assert items_by_name(release, "cctu", "") == {"w-en": by_language["en"], "w-zh": by_language["zh"]}


def test_one_recount_is_enough_for_all_that_changes_before_it_begins(team, release, suspect):
    suspects.send_back(actor=team.administrator, statistic=suspect)
    suspects.send_back(actor=team.administrator, statistic=EntryStatistic.objects.get(entry="weather-2#0"))
    recount = Recount.objects.get()
    jobs.run(recount.job_id)
    recount.refresh_from_db()
    assert recount.items == withdrawn.withdrawn_items(release)
    assert len(recount.items) == 2
    assert withdrawn.start_recount(actor=team.administrator, release=release, wake_worker=False) != recount


def verify_again(team, dialogue):
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotators[1], dialogue, "approve")
    claim_and_submit(team.annotators[2], dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"


def test_the_leaderboard_says_what_was_withdrawn(team, release, suspect):
    client = Client()
    client.force_login(team.administrator)
    page = reverse("score-board", args=[team.project.slug, release.public_id])
    assert "withdrawn" not in client.get(page).content.decode()
    dialogue = suspects.send_back(actor=team.administrator, statistic=suspect)
    assert "not up to date" in client.get(page).content.decode()

    def count_again():
        again = reverse("score-board-recount", args=[team.project.slug, release.public_id])
        assert client.post(again).status_code == 302
        for recount in Recount.objects.filter(complete=False):
            jobs.run(recount.job_id)
        client.get(page)  # shows the message that the count began
        return client.get(page).content.decode()

    html = count_again()
    assert "Without withdrawn items" in html
    assert "not up to date" not in html
    # Verified again unchanged, the item counts again, and the column is wrong until somebody counts again.
    verify_again(team, dialogue)
    html = client.get(page).content.decode()
    assert "No item of this release is withdrawn any more" in html
    assert "not up to date" in html
    html = count_again()
    assert "Without withdrawn items" not in html
    assert "withdrawn" not in html


# --- what reviewers see ----------------------------------------------------------------------------------------------


def test_reviewers_see_the_answers_when_the_review_is_over(team, suspect):
    dialogue = suspects.send_back(actor=team.administrator, statistic=suspect)
    assert SentBack.objects.get().cycle.dialogue_id == dialogue.pk
    address = reverse("dialogue-answers", args=[team.project.slug, dialogue.public_id])
    page = reverse("dialogue", args=[team.project.slug, dialogue.public_id])
    reviewer, colleague, senior = Client(), Client(), Client()
    reviewer.force_login(team.annotator)
    colleague.force_login(team.annotators[1])
    senior.force_login(team.seniors[0])
    for client in (reviewer, colleague):
        assert client.get(address).status_code == 404
        assert address not in client.get(page).content.decode()
    assert address in senior.get(page).content.decode()
    # After one verdict, they may still be asked for another.
    claim_and_submit(team.annotator, dialogue)
    assert reviewer.get(address).status_code == 404
    claim_and_submit(team.annotator, dialogue)
    newcomer = make_user()
    Membership.objects.create(project=team.project, user=newcomer, role=Role.ANNOTATOR)
    for person in (team.annotators[2], newcomer):
        claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
    assert address in reviewer.get(page).content.decode()
    html = reviewer.get(address).content.decode()
    assert "Answer of 3 runs" in html
    assert "a, b, c" in html
    # A review in an earlier cycle does not count.
    assert team.annotators[1].reviews.filter(dialogue=dialogue).exists()
    assert colleague.get(address).status_code == 404
    # They may review it again when it is sent back once more, so the earlier answers are hidden, too.
    suspects.send_back(actor=team.administrator, statistic=suspect)
    assert reviewer.get(address).status_code == 404
    assert address not in reviewer.get(page).content.decode()


def test_they_wait_while_an_audit_can_send_the_dialogue_back(team, release, score, predictions_of):
    score(predictions_of("m"))
    adopt_c3(team, audit_fraction=0.5, send_back_above=0.3, send_back_audited=1)
    items = [
        suspects.send_back(actor=team.administrator, statistic=one)
        for one in EntryStatistic.objects.filter(entry__endswith="#0").order_by("entry")
    ]
    for dialogue in items:
        claim_and_submit(team.annotator, dialogue)
        claim_and_submit(team.annotator, dialogue)
        claim_and_submit(team.annotators[1], dialogue, "approve")
        claim_and_submit(team.annotators[2], dialogue, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    audited = {one.dialogue_id for one in DrawItem.objects.filter(selected=True)}
    rest = [one for one in items if one.pk not in audited]
    assert {Dialogue.objects.get(pk=one.pk).status for one in rest} == {"verified"}
    assert audited

    def seen():
        return [bool(suspects.sent_back_to(actor=team.annotator, dialogue=one)) for one in rest]

    assert not any(seen())
    for dialogue in items:
        if dialogue.pk in audited:
            claim_and_submit(team.seniors[0], dialogue, "approve")
    assert all(seen())


# --- newer scorers ---------------------------------------------------------------------------------------------------


@pytest.fixture
def newer(monkeypatch):
    monkeypatch.setattr(scoring_run, "VERSION", 2)


def again(team, run):
    job = rescoring.start_rescoring(actor=team.administrator, run=run, wake_worker=False)
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def shown(score_set):
    return sorted(score_set.scores.values_list("entry", "right", "error", "said", "prediction_id"))


def test_a_run_scored_again_keeps_its_earlier_scores(team, release, score, predictions_of, newer, monkeypatch):
    monkeypatch.setattr("benchmark.services.runs.scoring.VERSION", 1)
    score(predictions_of("m", wrong=("weather-1",)) + predictions_of("n") + predictions_of("o"))
    run = Run.objects.get(model="m")
    old = run.score_sets.get()
    before = (shown(old), figures(run, "right"), old.summary)
    assert rescoring.may_score_again(old)
    assert again(team, run).state == JobState.DONE
    new = run.score_sets.get(version=2)
    assert shown(new) == shown(old) == before[0]
    assert (new.entries, new.right, new.missing, new.complete) == (old.entries, old.right, old.missing, True)
    assert figures(run, "right") == before[1]
    old.refresh_from_db()
    assert old.summary == before[2]
    assert new.summary["errors"] == old.summary["errors"]
    assert [one.version for one in boards.current_sets(release).order_by("run__model")] == [2, 1, 1]
    # Of three runs, one was scored by another version, and can't be compared with the others.
    ranks = {row.run.model: row.rank for row in boards.leaderboard(release, {}).rows}
    assert ranks == {"m": None, "n": 1, "o": 1}
    assert [one.model for one in boards.others_of(Run.objects.get(model="n").score_sets.get())] == ["o"]
    assert boards.others_of(new) == []
    assert not rescoring.may_score_again(new)
    with pytest.raises(Conflict, match="current version"):
        rescoring.start_rescoring(actor=team.administrator, run=run)


def test_scores_that_are_not_complete_are_not_shown(team, score, predictions_of, newer, monkeypatch):
    monkeypatch.setattr("benchmark.services.runs.scoring.VERSION", 1)
    score(predictions_of("m"))
    run = Run.objects.get()

    def die(*arguments):
        raise KeyboardInterrupt

    job = rescoring.start_rescoring(actor=team.administrator, run=run, wake_worker=False)
    assert rescoring.start_rescoring(actor=team.administrator, run=run, wake_worker=False) == job
    with monkeypatch.context() as patched:
        patched.setattr(rescoring._Writer, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            jobs.run(job.pk)
    assert run.score_sets.filter(version=2, complete=False).exists()
    assert boards.current_sets(run.release).get().version == 1
    rescoring.remove_scores(job)
    assert not Score.objects.filter(score_set__version=2).exists()


def test_the_page_of_a_run_shows_each_version(team, score, predictions_of, newer, monkeypatch):
    monkeypatch.setattr("benchmark.services.runs.scoring.VERSION", 1)
    score(predictions_of("m") + predictions_of("n"))
    run, other = Run.objects.order_by("model")
    client, senior = Client(), Client()
    client.force_login(team.administrator)
    senior.force_login(team.seniors[0])
    page = reverse("run", args=[team.project.slug, run.public_id])
    assert "Score again" in client.get(page).content.decode()
    assert "Score again" not in senior.get(page).content.decode()
    assert senior.post(page).status_code == 403
    assert client.post(page).status_code == 302
    assert again(team, run).state == again(team, other).state == JobState.DONE
    assert "?scorer=1" in client.get(page).content.decode()
    assert "?scorer=2" in client.get(page, {"scorer": "1"}).content.decode()
    newest = client.get(page, {"scorer": "2"}).content.decode()
    html = client.get(page, {"scorer": "1", "outcome": "all"}).content.decode()
    assert ('id="with"' in newest, 'id="with"' in html) == (True, False)
    entry = reverse(
        "run-entry", args=[team.project.slug, run.public_id, run.score_sets.get(version=1).scores.first().pk]
    )
    assert entry in html
    html = client.get(entry).content.decode()
    assert html.count(f"{page}?scorer=1") == 2
    assert "by version 1 of the scorers" in html
    assert client.get(page, {"scorer": "9"}).status_code == 400
    assert client.post(page).status_code == 409


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_administrators_at_once_score_a_run_again_once(team, score, predictions_of, newer, monkeypatch):
    monkeypatch.setattr("benchmark.services.runs.scoring.VERSION", 1)
    score(predictions_of("m"))
    run = Run.objects.get()
    other = make_user()
    Membership.objects.create(project=team.project, user=other, role=Role.ADMINISTRATOR)
    race(*(
        lambda actor=actor: rescoring.start_rescoring(actor=actor, run=run, wake_worker=False)
        for actor in (team.administrator, other)
    ))  # fmt: skip
    assert Job.objects.filter(kind=rescoring.KIND).count() == 1


def test_stored_predictions_of_every_family_are_records_again(release):
    def records(family, entry, content):
        same = {"release": release, "release_sha256": release.sha256, "model": family}
        run = Run.objects.create(family=family, **same)
        run.predictions.create(entry=entry, content=content)
        (found,) = rescoring._records(run)
        return found | {"run": ""}

    messages = [{"role": "assistant", "content": "Done."}]
    assert records("cctu", "case@7@2", messages) == {"run": "", "case": "case@7", "attempt": 2, "messages": messages}
    assert records("wild", "d#1#0", []) == {"run": "", "dialogue": "d#1", "task": 0, "rounds": []}
    found = records(
        "async", "two@0-1#2", {"composite": "two", "delay": "0-1", "seed": 3, "turns": [], "outcomes": None}
    )
    assert (found["id"], found["composite"], found["delay"], found["seed"]) == ("two@0-1#2", "two", "0-1", 3)


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_goes_when_it_was_scored_long_ago_and_the_predictions_stay(score, predictions_of):
    old, recent = (score(predictions_of(name), filename=f"{name}.jsonl") for name in ("old", "recent"))
    old.job.ended_at = timezone.now() - timedelta(days=91)
    old.job.save(update_fields=["ended_at"])
    orphan, path = full_path("predictions/nobodys.jsonl.part"), full_path(old.file)
    orphan.write_bytes(b"half")
    os.utime(orphan, ((timezone.now() - timedelta(days=2)).timestamp(),) * 2)
    removed = retention.tidy_up()
    names = ("uploaded files of predictions", "files of interrupted uploads of predictions")
    assert [removed[name] for name in names] == [1, 1]
    assert (path.exists(), orphan.exists(), full_path(recent.file).exists()) == (False, False, True)
    assert Run.objects.get(model="old").predictions.exists()
