"""Creates a simulated project: its people, its protocol, and its candidates in the first stage."""

import hashlib

from django.db import transaction

from annotator.core.schema import load_text
from annotator.errors import Conflict, Invalid
from annotator.models import Project, Role, User
from annotator.services import members, projects
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.core.simulation import TOOLS, SimulationModel
from reviews.services.cycles.candidates import NewDialogue, add_dialogues
from reviews.services.protocols.versions import adopt_preset, current_protocol, shortfalls
from reviews.services.simulation.runner import Simulation

#: Prefix of user names. All simulations of an installation share the same people.
USERNAME = "simulated-"
#: Wrong labels are errors that the simulated people must find, so the checks must not block them.
CHECKS = {"label.policy_steps": "warning", "label.answer_type": "warning"}


@transaction.atomic
def set_up(*, model: SimulationModel, preset: str, slug: str, **options: int | float) -> Simulation:
    """Create the project of a model; ``options`` are the preset's own. Raises Conflict if the address is taken.

    Raises Invalid if the protocol needs more people than there are. No project is created then.
    """
    project = projects.create_project(
        actor=None,
        name=f"Simulation of {preset}, seed {model.seed}",
        slug=slug,
        description="Synthetic annotators with known error rates, and dialogues whose errors are known.",
    )
    administrator = _user("administrator")
    users = {person.name: _user(person.name) for person in model.people}
    members.grant_role(actor=None, project=project, user=administrator, role=Role.ADMINISTRATOR)
    for person in model.people:
        role = Role.SENIOR_REVIEWER if person.expert else Role.ANNOTATOR
        members.grant_role(actor=administrator, project=project, user=users[person.name], role=role)
    project = projects.change_project(
        actor=administrator,
        project=project,
        name=project.name,
        description=project.description,
        time_zone=project.time_zone,
        long_range_rule=project.long_range_rule,
        check_settings=CHECKS,
    )
    adopt_preset(actor=administrator, project=project, preset=preset, **options)
    protocol = current_protocol(project)
    if protocol is None:
        raise AssertionError("the protocol has just been adopted")
    if lacking := shortfalls(project=project, protocol=protocol):
        raise Invalid(f"Not enough people. {' '.join(lacking)}")
    _bring_in(model, project, administrator)
    return Simulation(model, project, protocol, administrator, users)


def _user(name: str) -> User:
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10**7
    user, created = User.objects.get_or_create(
        username=f"{USERNAME}{name}",
        # Draws use pseudonyms as strata: fixed ones give the same draws in every database. Random ones never begin in
        # this way.
        defaults={"display_name": f"Simulated {name}", "pseudonym": f"p-01{number:07}"},
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    elif user.has_usable_password() or not user.is_active:
        raise Conflict(f"The user {user.username} exists and does not belong to a simulation. Rename that account.")
    return user


def _bring_in(model: SimulationModel, project: Project, administrator: User) -> None:
    toolset = ensure_toolset_revision(actor=administrator, project=project, tools=TOOLS, name="Trips")
    new = [NewDialogue(item.name, load_text(item.candidate), toolset) for item in model.items]
    for begin in range(0, len(new), 500):
        add_dialogues(actor=administrator, project=project, dialogues=new[begin : begin + 500])
