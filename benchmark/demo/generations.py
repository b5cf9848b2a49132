"""The generations of the demo: one is complete and translated, one waits for the choice of its third request, and one
adds a task to a verified dialogue. No model is asked.
"""

from collections.abc import Callable, Iterator

from annotator.models import Dialogue, Project, ToolsetRevision, User
from annotator.services.jobs import jobs
from annotator.services.toolsets.details import Details, newest
from annotator.services.toolsets.importing import import_toolset
from benchmark.core.generation.pipeline import first_usable
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.records import Recorded
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import MODEL, TOOLS, scripted_records
from benchmark.demo.translations import translate
from benchmark.models import Chooser, Generation
from benchmark.services.generation.people import choose_candidate
from benchmark.services.generation.reading import read_state
from benchmark.services.generation.recordings import start_from_records
from benchmark.services.generation.requests import continue_generation

_POLICIES = ("single_tool", "multi_tool", "clarify", "chat")
_RELATIONS = (
    ("explicit",),
    ("partial_information",),
    ("partial_information", "coreferential_reference"),
    ("long_range_dependency",),
)
#: What the model proposes if all requests of the third task are rejected.
_SPARE = (
    '{"requests": [{"relation": "partial_information", "text": "Is rain expected there when my parents visit?"}, '
    '{"relation": "coreferential_reference", "text": "What will it be like in that city on our last day?"}]}'
)

#: A verified dialogue with two tasks, and what the roles say about the next one, in order.
_CONTINUED = "clinic-desk-02"
_NEXT = (
    (
        Purpose.FOLLOW_UP,
        '{"requests": [{"relation": "coreferential_reference", '
        '"text": "He would also like to know what to bring along to it."}, '
        '{"relation": "coreferential_reference", "text": "And may he eat before that visit?"}]}',
    ),
    (Purpose.ACTIONS, '{"action": "finish"}'),
    (Purpose.VERDICT, '{"correct": true}'),
    (
        Purpose.ANSWER,
        "A list of his medicines, his insurance card and, if he has them, earlier results. He can eat and drink as "
        "usual, unless the practice told him otherwise.",
    ),
)


def play(project: Project, people: dict[str, User], *, log: Callable[[str], None]) -> None:
    """Generate a short dialogue to its end, and one of four tasks up to the choice of the third request."""
    administrator, annotator = people["ingrid"], people["amina"]
    details = Details("City trips", "Events and tickets", ["travel"], "CC0-1.0", "Written for the demo")
    toolset = import_toolset(actor=administrator, project=project, tools=TOOLS, details=details)
    revision = newest(toolset)
    short = Setup("city-trip-short", _POLICIES[:2], _RELATIONS[:2], TOOLS, seed=5)
    complete = _start(administrator, project, revision, short, slips={2: "I would call get_forecast for that day."})
    while complete.dialogue is None:
        complete = _choose(annotator, complete)
    translate(administrator, complete.dialogue)
    waiting = _start(administrator, project, revision, Setup("city-trip", _POLICIES, _RELATIONS, TOOLS, seed=3))
    for person in (administrator, annotator):
        waiting = _choose(person, waiting)
    _continue(administrator, project)
    log("Generated candidates from recorded answers.")


def _continue(actor: User, project: Project) -> None:
    """Add a task to a verified dialogue; the result is a dialogue of its own, in review."""
    past = Dialogue.objects.select_related("head__toolset_revision").get(
        project=project, external_id=_CONTINUED, gold_role=""
    )
    assert past.head is not None  # noqa: S101 - it is verified
    policies = (*past.policy_list, "chat")
    name = f"{past.external_id}-ch-1"
    setup = {"name": name, "policies": policies, "relations": [["coreferential_reference"]] * 3, "seed": 1}
    records = [Recorded(name, number, "", text, one.value, MODEL) for number, (one, text) in enumerate(_NEXT, 1)]
    generation = start_from_records(
        actor=actor, records=records, wake_worker=False, project=project, toolset=past.head.toolset_revision,
        setup=setup, past=past, chooser=Chooser.FIRST,
    )  # fmt: skip
    _work(generation)


def _start(
    actor: User, project: Project, revision: ToolsetRevision, setup: Setup, slips: dict[int, str] | None = None
) -> Generation:
    generation = start_from_records(
        actor=actor, records=list(_records(setup, slips)), wake_worker=False, project=project, toolset=revision,
        setup=setup.to_json(),
    )  # fmt: skip
    return _work(generation)


def _records(setup: Setup, slips: dict[int, str] | None) -> Iterator[Recorded]:
    yield from scripted_records(setup, slips)
    yield Recorded(setup.name, 0, "", _SPARE, Purpose.FOLLOW_UP.value, MODEL)


def _choose(actor: User, generation: Generation) -> Generation:
    candidate = first_usable(read_state(generation))
    choose_candidate(actor=actor, generation=generation, candidate=candidate, work=False)
    return _work(continue_generation(actor=None, generation=generation, wake_worker=False))


def _work(generation: Generation) -> Generation:
    jobs.run(generation.job_id or 0)
    return Generation.objects.select_related("project", "toolset_revision", "dialogue").get(pk=generation.pk)
