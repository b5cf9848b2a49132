"""Dialogues with chosen policies, and targets."""

from annotator.models import Dialogue
from benchmark.services.coverage.targets import change_target
from tests.factories import Team, make_dialogue, make_document


def labelled(team: Team, *policies: str | None, **fields: object) -> Dialogue:
    """A dialogue whose tasks have these policies."""
    document = make_document(tasks=len(policies))
    for task, policy in zip(document["tasks"], policies, strict=True):
        task["policy"] = policy
    return make_dialogue(team.project, document, **fields)


def want(team: Team, dimension: str, value: str, wanted: int | None) -> bool:
    """Set a target."""
    return change_target(
        actor=team.administrator, project=team.project, dimension=dimension, value=value, wanted=wanted
    )
