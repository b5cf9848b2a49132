"""The demo's endpoint: two scripted models that know the demo's references. No model was asked.

``careful`` repeats the reference step by step, without the one slip in them; ``hasty`` answers at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from django.db import connections

from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
from annotator.core.composites.prompt import first_message
from annotator.models import Dialogue, Membership, Project, Role
from annotator.services.jobs import jobs
from benchmark.demo.chat_server import Answer, ChatServer, Handler, called, said, serving
from benchmark.demo.scripted_models import PREFIX, reference_rounds
from benchmark.demo.slip import without_slip
from benchmark.models import Endpoint, Release, ReleaseState
from benchmark.services.inference.baselines import start_baseline
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import start_inference
from benchmark.services.runs.uploads import families_of

#: The endpoint's name in each project of the demo.
NAME = "Scripted models"
CAREFUL, HASTY = "careful", "hasty"


class Script:
    """Answers requests. ``steps``: question → what the reference says to it, message by message."""

    def __init__(self, steps: Mapping[str, Sequence[Answer]]) -> None:
        self.steps = steps

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        model, messages = body.get("model"), body["messages"]
        if model not in (CAREFUL, HASTY):
            return _refuse
        for place in range(len(messages) - 1, -1, -1):
            steps = self.steps.get(str(messages[place]["content"]))
            if messages[place]["role"] == "user" and steps:
                done = len(steps) if model == HASTY else sum(one["role"] == "assistant" for one in messages[place:])
                return steps[min(done, len(steps) - 1)]
        return said("I don’t know this question.")

    @classmethod
    def load(cls) -> Self:
        """Read the references of the projects that have the endpoint."""
        steps: dict[str, list[Answer]] = {}
        projects = Project.objects.filter(endpoints__name=NAME)
        dialogues = Dialogue.objects.filter(project__in=projects, head__isnull=False).select_related("head")
        documents = {
            one.external_id: without_slip(one.external_id, one.head.document()) for one in dialogues if one.head
        }
        for document in documents.values():
            kind = document["kind"]
            if kind == "constrained":
                rounds = document["reference_trajectory"] or ()
                steps[document["user_query"]] = [_message(one["calls"], one["final"]) for one in rounds]
            elif kind == "composite":
                singles = {one["single"]: documents[one["single"]]["tasks"][0] for one in document["tasks"]}
                question = first_message({name: task["user_message"] for name, task in singles.items()})
                steps[question] = list(_in_turn({name: task["steps"] for name, task in singles.items()}))
            elif kind == "multi_turn":
                for task in document["tasks"]:
                    rounds = list(reference_rounds(task))
                    steps[task["user_message"]] = [_message(one["calls"], one["content"]) for one in rounds]
        return cls(steps)


def _message(calls: Sequence[Mapping[str, Any]], text: str | None) -> Answer:
    return called(*((call["name"], call["arguments"]) for call in calls)) if calls else said(text or "Done.")


def _in_turn(calls: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Answer]:
    """Yield the gold calls of several tasks in turn, then that all are completed."""
    for place in range(max(map(len, calls.values()), default=0)):
        for name, steps in calls.items():
            for step in steps[place : place + 1]:
                yield said(write_call_message(name, step["name"], step["arguments"]))
    yield said(write_content(COMPLETED))


def _refuse(handler: Handler) -> None:
    message = f"There is no such model here. Ask for “{CAREFUL}” or “{HASTY}”."
    handler.json(404, {"error": {"message": message}})


def play(releases: Sequence[Release], log: Callable[[str], None]) -> None:
    """Add the endpoint to the projects of the releases, and run the careful model on the newest release of each."""
    newest = {release.project: release for release in releases if release.state == ReleaseState.FROZEN}
    for project, release in newest.items():
        if release.requester is None:
            continue
        endpoint = Endpoint.objects.create(
            project=project, name=NAME, base_url="http://127.0.0.1:9/v1", requester=release.requester
        )
        with serving(Script.load()) as server:
            Endpoint.objects.filter(pk=endpoint.pk).update(base_url=server.url)
            inference = start_inference(
                actor=release.requester, release=release, endpoint=endpoint, model=CAREFUL,
                name=f"{PREFIX}{CAREFUL}, run from here", family=families_of(release)[0], wake_worker=False,
            )  # fmt: skip
            jobs.run(inference.job_id)
        inference.refresh_from_db()
        if inference.predictions:
            jobs.run(inference.predictions.job_id)
        _ask_a_person(release)
        log(f"Ran a scripted model on release {release.version} of {project.name}.")


def _ask_a_person(release: Release) -> None:
    """Let an annotator answer a few entries, for a human baseline that waits for them."""
    annotators = Membership.objects.active().filter(project=release.project, role=Role.ANNOTATOR)
    first = annotators.select_related("user").order_by("user__username").first()
    if first is not None and release.requester is not None:
        baseline = start_baseline(
            actor=release.requester, release=release, person=first.user, family=families_of(release)[0],
            options=Options(limit=2), wake_worker=False,
        )  # fmt: skip
        jobs.run(baseline.job_id)


def main() -> None:
    """Serve until the process is stopped, and store the address of today."""

    def answer(body: Mapping[str, Any]) -> Answer:
        try:
            # The references as they are now: people edit them in the demo.
            return Script.load()(body)
        finally:
            connections.close_all()

    with ChatServer(answer) as server:
        Endpoint.objects.filter(name=NAME, removed_at=None).update(base_url=server.url)
        server.serve_forever()
