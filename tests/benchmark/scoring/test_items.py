"""Statistics of entries over runs: by hand, and what the pages and sending back do."""

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotator.models.content import DialogueStatus
from benchmark.core.scoring.items import Answer, EntryStatistics, Flag, fingerprint, statistics_of
from benchmark.models import EntryStatistic
from benchmark.services.runs import suspects
from reviews.models import Cycle
from tests.benchmark.scoring.scoring_cases import call, calls, prediction, said


def answers(text):
    """One character a run: ``+`` right, a letter a wrong answer, ``.`` a wrong one that is not compared."""
    return [Answer(number, one == "+", "" if one in "+." else one) for number, one in enumerate(text)]


@pytest.mark.parametrize(
    ("text", "agreeing", "flag"),
    [
        ("++", 0, Flag.NOTHING),
        ("ab", 1, Flag.NOTHING),
        ("+++", 0, Flag.ALL_RIGHT),
        ("aa+", 2, Flag.SAME_ANSWER),
        ("aabb", 2, Flag.NONE_RIGHT),
        ("aabc", 2, Flag.NONE_RIGHT),
        ("...", 0, Flag.NONE_RIGHT),
        ("+ab", 1, Flag.NOTHING),
    ],
)
def test_what_is_notable_about_one_entry(text, agreeing, flag):
    found = statistics_of({"one": answers(text)})["one"]
    assert (found.runs, found.agreeing, found.flag) == (len(text), agreeing, flag)


def test_discrimination_is_corrected_for_the_entry_itself():
    # The runs have 2, 1 and 0 of the other two entries right.
    found = statistics_of({"x": answers("+aa"), "y": answers("++b"), "z": answers("+cc")})
    # (1, 0, 0) against (2, 1, 0): deviations 2/3, -1/3, -1/3 and 1, 0, -1.
    assert found["x"].discrimination == pytest.approx((2 / 3 + 1 / 3) / ((6 / 9) ** 0.5 * 2**0.5))
    reversed_ = statistics_of({"x": answers("a++"), "y": answers("++b"), "z": answers("+cc")})["x"]
    assert reversed_.discrimination < 0
    assert reversed_.flag == Flag.NOTHING, "three runs are too few to tell"


def test_better_runs_fail_only_beyond_chance():
    # Sixteen runs, of which run n has the first n of fifteen other entries right.
    others = {f"o{n}": answers("".join("+" if n < run else "b" for run in range(16))) for n in range(15)}
    worst = statistics_of(others | {"x": answers("+" * 8 + "abcdefgh")})["x"]
    assert worst.discrimination * 16**0.5 < -3
    assert worst.flag == Flag.NEGATIVE
    mixed = statistics_of(others | {"x": answers("+a+b+c+d+e+f+g+h")})["x"]
    assert -3 < mixed.discrimination * 16**0.5 < 0
    assert mixed.flag == Flag.NOTHING


@given(st.lists(st.text("+ab", min_size=4, max_size=4), min_size=1, max_size=6))
def test_discrimination_is_a_correlation(texts):
    for one in statistics_of({str(n): answers(text) for n, text in enumerate(texts)}).values():
        assert isinstance(one, EntryStatistics)
        assert one.discrimination is None or -1.000001 <= one.discrimination <= 1.000001


def rounds(*given):
    return prediction("d", 0, given)["rounds"]


def test_equal_calls_have_one_fingerprint():
    one, other = call("find", q="a", n=1), call("read", q="b")
    first = fingerprint(rounds(calls(one, other), said("yes")))
    assert first == fingerprint(rounds(calls(other, call("find", n=1.0, q="a")), said("no")))
    assert first != fingerprint(rounds(calls(one), calls(other), said("yes")))
    assert first != fingerprint(rounds(calls(one, call("read", q="c")), said("yes")))
    for text in ("{", "[" * 100_000, "\0", r'{"q": "\u0000"}', r'{"q": "\ud800"}'):
        broken = rounds(calls("find"))
        broken[0]["calls"][0]["arguments"] = text
        broken[0]["calls"][0]["name"] = "find\0"
        assert len(fingerprint(broken)) == 16


# --- in the application ----------------------------------------------------------------------------------------------


@pytest.fixture
def suspect(release, score, predictions_of):
    """An entry that three of four runs answer in the same other way."""
    lines = predictions_of("good") + [
        line for name in "abc" for line in predictions_of(name, wrong=("weather-1",), task=0)
    ]
    assert score(lines).job.state == "done"
    return EntryStatistic.objects.get(entry="weather-1#0")


def test_runs_that_agree_against_the_reference_flag_it(release, suspect, score, predictions_of):
    assert (suspect.runs, suspect.right, suspect.agreeing, suspect.flag) == (4, 1, 3, "same_answer")
    counts = suspects.count_flags(release)
    assert counts["same_answer"] == 1
    assert counts["all_right"] == EntryStatistic.objects.count() - 1
    assert [one.score_set.run.model for one in suspects.answers_to(suspect)] == ["a", "b", "c", "good"]
    score(predictions_of("better"), filename="better.jsonl")
    score(predictions_of("best"), filename="best.jsonl")
    suspect.refresh_from_db()
    assert (suspect.runs, suspect.right, suspect.agreeing, suspect.flag) == (6, 3, 3, "")


def test_an_administrator_sends_the_item_back_and_the_release_stays(release, team, suspect):
    client = Client()
    client.force_login(team.administrator)
    url = reverse("entry-detail", args=[team.project.slug, release.public_id, suspect.pk])
    listed = client.get(reverse("entry-list", args=[team.project.slug, release.public_id]), {"flag": "same_answer"})
    assert url in listed.content.decode()
    page = client.get(url).content.decode()
    assert "The reference may be wrong." in page
    assert client.post(url).status_code == 302
    dialogue = suspect.item.dialogue
    dialogue.refresh_from_db()
    assert dialogue.status != DialogueStatus.VERIFIED
    cycle = Cycle.objects.filter(dialogue=dialogue).latest("number")
    assert cycle.reason == "Scores of release 1.0 raise a doubt about the reference of weather-1#0."
    assert "Send back to review" not in client.get(url).content.decode()
    again = client.post(url)
    assert again.status_code == 409
    assert "in review already" in again.content.decode()
    assert release.items.filter(dialogue=dialogue).exists()


def test_seniors_look_but_do_not_send_back(release, team, suspect):
    client = Client()
    client.force_login(team.seniors[0])
    url = reverse("entry-detail", args=[team.project.slug, release.public_id, suspect.pk])
    assert "Send back to review" not in client.get(url).content.decode()
    assert client.post(url).status_code == 403
    client.force_login(team.annotator)
    assert client.get(url).status_code == 403
