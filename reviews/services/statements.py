"""Statements written out: without one of them a row of ``make bench`` would be worse by more than 15 %.

Everything else asks the ORM. Each statement says why it stays, and a test holds it against the ORM's query
(tests/reviews/test_statements.py).
"""

from datetime import datetime

from annotator.models import Dialogue, Project, Revision, ToolsetRevision, User
from annotator.services.database.joined import Part, read_joined
from annotator.services.database.statements import Value, clock, read_clock
from reviews.models import Claim, Cycle, ProtocolVersion, Slot, StageRun

_WORK = (
    Part("c", Claim),
    Part("s", Slot),
    Part("n", StageRun),
    Part("d", Dialogue, without=("search_text",)),
    Part("p", Project),
    Part("y", Cycle),
    Part("v", ProtocolVersion, without=("definition",)),
    Part("r", Revision),
    Part("t", ToolsetRevision),
)
_WORK_FROM = (
    "FROM reviews_claim c JOIN reviews_slot s ON s.id = c.slot_id JOIN reviews_stagerun n ON n.id = s.stage_run_id "
    "JOIN annotator_dialogue d ON d.id = s.dialogue_id JOIN annotator_project p ON p.id = s.project_id "
    "JOIN reviews_cycle y ON y.id = s.cycle_id JOIN reviews_protocolversion v ON v.id = s.protocol_id "
    "JOIN annotator_revision r ON r.id = s.revision_id "
    "JOIN annotator_toolsetrevision t ON t.id = r.toolset_revision_id "
    "WHERE s.public_id = %s AND c.person_id = %s AND s.state <> 'hidden' AND EXISTS (SELECT 1 "
    "FROM annotator_membership m WHERE m.project_id = s.project_id AND m.user_id = c.person_id AND m.ended_at IS NULL)"
)


def read_claim(*, person: User, slot: str, token: str | None = None) -> tuple[Claim, datetime] | None:
    """The person's latest claim on the slot with this public id (or the one with this token), and what time it is.

    With all that hangs on the slot, as ``select_related`` reads it: the ORM takes four times as long to put so many
    tables together, and every page, edit and submission begins with this.
    """
    named = "" if token is None else "AND c.token = %s"
    values: list[Value] = [slot, person.pk] if token is None else [slot, person.pk, token]
    found = read_joined(_WORK, f"{_WORK_FROM} {named} ORDER BY c.id DESC LIMIT 1", values, last=clock())
    if not found:
        return None
    claim, held, run, dialogue, project, cycle, protocol, revision, toolset_revision, now = found[0]
    claim.slot, claim.project = held, project
    held.stage_run, held.dialogue, held.project, held.cycle = run, dialogue, project, cycle
    held.protocol, held.revision = protocol, revision
    dialogue.project, revision.toolset_revision = project, toolset_revision
    return claim, read_clock(now)
