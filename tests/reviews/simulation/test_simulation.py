"""``manage.py simulate_project``: a whole project through the real services, held to the truth."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotator.models import Event, Project, User
from annotator.models.content import Dialogue, DialogueStatus
from reviews.core.agreement.audit import REDRAWN
from reviews.core.protocols import PRESETS, Verdict
from reviews.core.simulation import Rates, build_model
from reviews.models import Draw, Review, Slot, SlotState
from reviews.services.queue.claims import claim_next
from reviews.services.sampling.draws import close_population_and_draw, recompute_draw, simulated_seeds
from reviews.services.simulation import runner
from reviews.services.simulation.runner import Simulation, review_next, run_to_end
from reviews.services.simulation.setup import set_up
from reviews.services.simulation.summary import simulation_summary
from tests.factories import adopt_c3, claim_and_submit, make_item, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def simulate(
    protocol: str = "c3", dialogues: int = 8, people: int = 6, seed: int = 1, **options: Any
) -> dict[str, Any]:
    """Run the command; its summary. Whatever it refuses is raised."""
    out = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(
            "simulate_project", protocol=protocol, dialogues=dialogues, people=people, seed=seed, stdout=out,
            stderr=StringIO(), **options,
        )  # fmt: skip
    summary: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    assert end.value.code == 0, summary["consistent"]
    return summary


def make_simulation(dialogues: int = 6, seed: int = 1, **rates: float) -> Simulation:
    model = build_model(seed=seed, dialogues=dialogues, annotators=4, experts=1, rates=Rates(**rates))
    return set_up(model=model, preset="c3", slug=f"sim-{seed}")


@pytest.mark.parametrize("protocol", sorted(PRESETS))
def test_every_preset_is_played_to_its_end(protocol: str) -> None:
    summary = simulate(protocol, dialogues=6)
    assert summary["verified"] + summary["rejected"] == 6
    assert summary["reviews"] == sum(summary["verdicts"].values()) == Review.objects.count()
    assert set(summary["consistent"].values()) == {True}
    assert {one["n"] for one in summary["accuracy"]} == {6}
    assert all(audit["population_as_planted"] for audit in summary["audits"])
    ended = {DialogueStatus.VERIFIED, DialogueStatus.REJECTED}
    assert set(Dialogue.objects.values_list("status", flat=True)) <= ended


def test_the_same_seed_gives_the_same_summary_and_another_one_another() -> None:
    one, same = simulate(slug="sim-one"), simulate(slug="sim-two")
    assert one == same
    assert simulate(seed=2) | {"seed": 1} != one
    assert Project.objects.filter(slug="sim-c3-8-6-2").exists()


def test_draws_are_those_of_the_seed_and_say_that_they_are_simulated() -> None:
    simulate(dialogues=12, slug="sim-one")
    simulate(dialogues=12, slug="sim-two")
    one, same = Draw.objects.order_by("pk")
    assert (one.seed, one.strata) == (same.seed, same.strata)
    assert recompute_draw(one) == []
    drawn = [set(d.items.filter(selected=True).values_list("dialogue__external_id", flat=True)) for d in (one, same)]
    assert drawn[0] == drawn[1]
    assert [event.after["simulated"] for event in Event.objects.filter(kind="draw.closed")] == [True, True]


def test_a_draw_too_large_for_one_transaction_is_carried_out_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = simulate(slug="sim-at-once")
    monkeypatch.setattr("reviews.services.sampling.draws.AT_ONCE", 1)
    assert simulate(slug="sim-by-job") == at_once


def test_who_sees_everything_leaves_nothing_and_the_curve_is_the_truth() -> None:
    simulation = make_simulation(
        12, baseline=0.4, unusable=0.0, spread=0.0, false_alarm=0.0, escalation=0.0, expert_detection=1.0,
        expert_false_alarm=0.0, mistaken_fix=0.0,
    )  # fmt: skip
    everything = dict.fromkeys(simulation.model.annotators[0].detection, 1.0)
    for person in simulation.model.annotators:
        object.__setattr__(person, "detection", everything)
    run_to_end(simulation)
    curve = {one["point"]: one for one in simulation_summary(simulation)["accuracy"]}
    assert curve["baseline"]["planted"] == curve["baseline"]["measured"] < 1
    assert {curve[point]["planted"] for point in curve if point != "baseline"} == {1.0}
    assert {curve[point]["measured"] for point in curve if point != "baseline"} == {1.0}


def test_an_error_that_nobody_sees_is_in_the_truth_and_not_in_the_measured_curve() -> None:
    simulation = make_simulation(
        6, baseline=0.0, unusable=0.0, false_alarm=0.0, expert_detection=0.0, expert_false_alarm=0.0
    )
    for person in simulation.model.annotators:
        object.__setattr__(person, "detection", dict.fromkeys(person.detection, 0.0))
    run_to_end(simulation)
    summary = simulation_summary(simulation)
    last = summary["accuracy"][-1]
    # At the end of the protocol, items are what was verified by definition, so there is no interval.
    assert (last["planted"], last["measured"], last["covers"]) == (0.0, 1.0, None)
    assert [one["covers"] for one in summary["accuracy"][1:-1]] == [False] * 3
    assert summary["audits"][0]["error_rate"]["planted"] == 1.0
    assert summary["verdicts"] == {"approve": summary["reviews"]}


@pytest.mark.parametrize("rework", [0.0, 1.0])
def test_items_are_sent_back_and_the_audit_counts_each_draw(rework: float) -> None:
    """As in a real project, many errors of an owner send the others back; then they are drawn from again."""
    rates = Rates(baseline=0.0, another_error=0.8, rework=rework, together=0.5)
    model = build_model(seed=6, dialogues=24, annotators=4, experts=1, rates=rates)
    for person in model.annotators:
        object.__setattr__(person, "detection", dict.fromkeys(person.detection, 0.35))
    simulation = set_up(
        model=model, preset="c3", slug="sim-back", audit_fraction=0.5, send_back_above=0.1, send_back_audited=2
    )
    run_to_end(simulation)
    summary = simulation_summary(simulation)
    assert set(summary["consistent"].values()) == {True}
    assert summary["sent_back"] > 0
    assert len(summary["draws"]) > 1
    [audit] = summary["audits"]
    assert audit["population_as_planted"]
    assert REDRAWN in audit["warnings"]
    approved = [one for one in simulation.records if one.cycle > 1 and one.stage.startswith("self_check")]
    assert approved
    assert all(one.verdict is Verdict.APPROVE for one in approved) is (rework == 0)


def test_experts_give_a_reason_where_they_overrule_a_rejection() -> None:
    summary = simulate("cctu", dialogues=6, unusable=0.3, expert_detection=0.0)
    assert summary["verdicts"]["reject"]
    assert (summary["verified"], summary["rejected"]) == (6, 0)
    assert Review.objects.filter(reason="The dialogue can be repaired.").exists()


def test_it_touches_no_project_that_is_there() -> None:
    team = make_team("sim-c3-8-6-1")
    with pytest.raises(CommandError, match="already") as refused:
        call_command("simulate_project", protocol="c3", dialogues=8, people=6, seed=1, stderr=StringIO())
    assert refused.value.returncode == 2
    assert not Dialogue.objects.filter(project=team.project).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "c4"}, "no preset"),
        ({"dialogues": 0}, "from 1 to"),
        ({"people": 0}, "from 1 to"),
        ({"slug": "weather"}, "must begin with sim-"),
        ({"baseline": 1.5}, "probability"),
        ({"people": 2}, "Not enough people"),
    ],
)
def test_wrong_use_is_a_sentence(options: dict[str, Any], words: str) -> None:
    given = {"protocol": "c3", "dialogues": 4, "people": 6, "seed": 1, "stderr": StringIO(), **options}
    with pytest.raises(CommandError, match=words) as refused:
        call_command("simulate_project", **given)
    assert refused.value.returncode == 2
    assert not Project.objects.exists()


def test_a_person_who_only_has_the_name_of_a_figure_is_left_alone() -> None:
    from annotator.errors import Conflict

    User.objects.create_user("simulated-annotator-1", password="her own")
    with pytest.raises(Conflict, match="does not belong to a simulation"):
        make_simulation()
    assert not Project.objects.exists()
    assert User.objects.count() == 1


def test_people_edit_drafts_or_hand_in_documents() -> None:
    simulation = make_simulation(10, baseline=0.2)
    run_to_end(simulation)
    from annotator.models import Draft

    fixers = set(Review.objects.filter(verdict="fix").values_list("person__username", flat=True))
    drafters = set(Draft.objects.filter(outcome="submitted").values_list("author__username", flat=True))
    edits = {f"simulated-{person.name}" for person in simulation.model.people if person.edits}
    assert drafters == fixers & edits
    assert fixers - edits


def test_an_expert_comes_back_to_what_was_held_when_the_connection_broke() -> None:
    """In a round experts do only what is reserved for them; what they hold is no longer open, and still theirs."""
    model = build_model(seed=11, dialogues=12, annotators=2, experts=3)
    simulation = set_up(model=model, preset="wild", slug="sim-held")
    while any(review_next(simulation, person) for person in model.people):
        pass
    assert runner.draw(simulation)
    by_key = {simulation.users[person.name].pk: person for person in model.people if person.expert}
    slot = Slot.objects.filter(project=simulation.project, reserved_for__in=by_key, state=SlotState.OPEN).order_by(
        "pk"
    )[0]
    assert slot.reserved_for_id is not None
    expert = by_key[slot.reserved_for_id]
    for _ in range(2):  # the second time it is held already
        assert slot.stage in simulation.stages_of(expert)
        claim = claim_next(actor=simulation.users[expert.name], project=simulation.project, stage=slot.stage)
        assert claim is not None
    others = Slot.objects.filter(
        project=simulation.project, reserved_for=simulation.users[expert.name], state=SlotState.OPEN
    )
    others.update(reserved_for=None)
    assert slot.stage in simulation.stages_of(expert)
    assert review_next(simulation, expert) is not None


def test_a_draw_that_somebody_else_made_is_noticed() -> None:
    from annotator.errors import Conflict

    simulation = make_simulation()
    while any(review_next(simulation, person) for person in simulation.model.people):
        pass
    assert close_population_and_draw(actor=None, project=simulation.project) is not None
    with pytest.raises(Conflict, match="Stop the workers"):
        run_to_end(simulation)


# --- nobody steers a real draw ----------------------------------------------------------------------------------


def test_a_real_project_takes_no_seed_from_anybody() -> None:
    team = make_team()
    adopt_c3(team)
    item = make_item(team, "cross_check")
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    with pytest.raises(ValueError, match="only a simulation"), simulated_seeds(project=team.project, source="0".upper):
        raise AssertionError("it must not get this far")
    other = make_simulation().project
    with simulated_seeds(project=other, source=lambda: "0" * 64):
        drawn = close_population_and_draw(actor=team.administrator, project=team.project)
    assert drawn is not None
    assert drawn.seed != "0" * 64
    assert "simulated" not in Event.objects.get(kind="draw.closed").after


def test_only_the_simulation_gives_seeds() -> None:
    root = Path(runner.__file__).parents[3]
    sources = [path for app in ("annotator", "reviews", "benchmark") for path in (root / app).rglob("*.py")]
    using = {path.name for path in sources if re.search(r"simulated_seeds|_simulation\b", path.read_text())}
    assert using == {"draws.py", "runner.py"}


def test_every_draw_has_a_seed_of_its_own() -> None:
    summary = simulate("wild", dialogues=10)
    seeds = list(Draw.objects.values_list("seed", flat=True))
    assert len(set(seeds)) == len(seeds) == len(summary["draws"]) > 2
