"""Which dialogues a release leaves out because of layers: stale ones, and those that another one contains."""

from collections import defaultdict
from collections.abc import Iterable

from annotator.core.comparison.anchor_wording import describe
from annotator.core.comparison.continuations import past_changes
from annotator.models import Continuation, Project
from annotator.services.dialogues.continuations import first_reason
from benchmark.models import Release
from benchmark.services.releases.candidates import Candidate


def missing_count(release: Release) -> int:
    """Return how many dialogues a frozen release lacks: those left out, without what others in it contain."""
    return int(release.left_out_count - release.frozen.get("contained", 0))


class Layers:
    """The continued dialogues of a project, as a release decides about them. Ask about the longest ones first."""

    def __init__(self, project: Project) -> None:
        rows = Continuation.objects.filter(
            dialogue__project=project, dialogue__published=True, dialogue__archived_at=None
        )
        found = list(rows.select_related("dialogue").defer("dialogue__search_text").order_by("pk"))
        self._stale = {row.dialogue_id for row in found if row.stale}
        #: By the key of a dialogue, what continues it.
        self._continued: dict[int, list[Continuation]] = defaultdict(list)
        for row in found:
            self._continued[row.continues_id].append(row)
        #: Keys of dialogues that are in the release, by themselves or within another one.
        self._held: set[int] = set()
        #: Numbers of continued tasks, the largest first. A dialogue continues more tasks than those before it.
        self.depths = sorted({row.tasks for row in found}, reverse=True)
        #: How many are left out because another dialogue contains them.
        self.contained = 0

    def why_stale(self, candidate: Candidate) -> str:
        """Return why a dialogue is stale; blank if it is not."""
        if candidate.pk not in self._stale:
            return ""
        reason = first_reason(candidate.pk)
        if reason is None:
            return "Earlier tasks have changed since it was made."
        name, verified = reason.row.continues.external_id, reason.row.verified
        if verified is None:
            return f"It continues {name}, which was rejected."
        mine, past = reason.mine.document(), verified.document()
        changes = past_changes(mine, past, reason.row.tasks)
        if not changes:
            return f"It continues {name}, which is verified with other tools."
        place = describe(past if changes[0].before is None else mine, changes[0].anchor)
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        return f"It continues {name}, whose verified revision {verified.number} differs: {place}{more}."

    def why_contained(self, candidate: Candidate) -> str:
        """Return which dialogue of the release contains all tasks of a dialogue; blank if none does."""
        for row in self._continued.get(candidate.pk, ()):
            if row.dialogue_id in self._held and not row.stale and candidate.task_count <= row.tasks:
                self._held.add(candidate.pk)
                self.contained += 1
                return f"All its tasks are in {row.dialogue.external_id}, which continues it."
        return ""

    def enter(self, keys: Iterable[int]) -> None:
        """Remember dialogues that enter the release."""
        self._held.update(keys)
