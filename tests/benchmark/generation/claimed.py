"""Generations that wait for a choice."""

from typing import Any

from annotator.services.jobs import jobs
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.models import Generation, GenerationClaim
from benchmark.services.generation.people import choose_candidate
from benchmark.services.generation.recordings import start_from_records
from tests.factories import Team, make_toolset


def work(generation: Generation) -> Generation:
    """Let its job run; return it as it is then."""
    jobs.run(Generation.objects.get(pk=generation.pk).job_id)
    return Generation.objects.get(pk=generation.pk)


def make_waiting(team: Team, name: str = "trip", **more: Any) -> Generation:
    """A generation of one task, from recorded answers, that waits for the choice of its request."""
    setup = Setup(name, ("single_tool",), (("explicit",),), TOOLS, **more)
    made = start_from_records(
        actor=team.administrator, records=list(scripted_records(setup)), project=team.project, setup=setup.to_json(),
        toolset=make_toolset(team.project, TOOLS, "trips"), wake_worker=False,
    )  # fmt: skip
    return work(made)


def finish(generation: Generation, person: Any) -> Generation:
    """Let a person choose the first request, and the recorded roles do the rest."""
    choose_candidate(actor=person, generation=generation, candidate="c1")
    done = work(generation)
    assert done.status == "done", done.reason
    return done


def let_expire(generation: Generation) -> None:
    """Set the time of its claim back."""
    claim = GenerationClaim.objects.get(generation=generation, state="live")
    passed = claim.expires_at - claim.created_at
    claim.created_at, claim.expires_at = claim.created_at - 2 * passed, claim.expires_at - 2 * passed
    claim.save()
