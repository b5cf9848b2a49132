"""What a program gets of a slot, and what it needs to show to act on one: read in one statement each."""

from dataclasses import dataclass
from functools import lru_cache

from annotator.models import ToolsetRevision, User
from annotator.services.database.statements import rows
from reviews.core.protocols import Stage
from reviews.models import ProtocolVersion
from reviews.services.protocols.versions import parse

_SHEET = (
    "SELECT s.public_id, s.stage, s.protocol_id, v.content_hash, d.public_id, d.external_id, r.public_id, "
    "r.content_hash, r.content, r.toolset_revision_id, t.content_hash "
    "FROM reviews_slot s JOIN reviews_protocolversion v ON v.id = s.protocol_id "
    "JOIN annotator_dialogue d ON d.id = s.dialogue_id JOIN annotator_revision r ON r.id = s.revision_id "
    "JOIN annotator_toolsetrevision t ON t.id = r.toolset_revision_id WHERE s.id = %s"
)
#: A slot s by its public id, on which a person has the claim c. The last conditions are ``Slot.objects.visible_to``'s.
HELD_BY = (
    "s.public_id = %s AND c.person_id = %s AND s.state <> 'hidden' AND EXISTS (SELECT 1 "
    "FROM annotator_membership m WHERE m.project_id = s.project_id AND m.user_id = c.person_id AND m.ended_at IS NULL)"
)
_HELD = f"SELECT c.token, c.slot_id FROM reviews_claim c JOIN reviews_slot s ON s.id = c.slot_id WHERE {HELD_BY}"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Worksheet:
    """A slot's item as it is to be reviewed; ``content`` and ``toolset`` are canonical text."""

    slot: str
    stage: Stage
    dialogue: str
    external_id: str
    revision: str
    content_hash: str
    content: str
    toolset: str


def read_worksheet(slot_id: int) -> Worksheet:
    """All it takes to review a slot."""
    (row,) = rows(_SHEET, [slot_id])
    slot, stage, *version, dialogue, external_id, revision, content_hash, content, toolset_id, toolset_hash = row
    protocol = parse(ProtocolVersion.from_db(None, ["id", "content_hash"], version))
    return Worksheet(
        slot=slot,
        stage=protocol.stage(stage),
        dialogue=dialogue,
        external_id=external_id,
        revision=revision,
        content_hash=content_hash,
        content=content,
        toolset=_toolset(toolset_hash, toolset_id),
    )


def held_tokens(*, actor: User, slot: str) -> dict[str, int]:
    """Token → key of the slot with this public id, for each claim the actor ever had on it; empty for anybody else."""
    return dict(rows(_HELD, [slot, actor.pk])) if actor.is_active else {}


@lru_cache(maxsize=256)
def _toolset(digest: str, toolset_id: int) -> str:
    """The content of a toolset revision, which never changes: many items share one."""
    return ToolsetRevision.objects.values_list("content", flat=True).get(content_hash=digest, pk=toolset_id)
