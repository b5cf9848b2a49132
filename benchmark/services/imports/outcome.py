"""What an import does with each record of a chunk, and what it knows of the dialogues that have these ids."""

from dataclasses import dataclass, field

from benchmark.services.imports.preparing import PreparedDialogue, PreparedRecord
from benchmark.services.imports.report import NOTES_PER_RECORD, Note
from benchmark.services.imports.worked_on import WorkedOn

GROUP_STAYS = "import.variant_group"


@dataclass(slots=True)
class Known:
    """A dialogue of the project that has the id of an incoming one."""

    pk: int
    batch_id: int | None
    published: bool
    archived: bool
    #: (content hash, toolset hash): of the head, of the last imported revision, of what this import has added.
    content: tuple[str, str]
    group: str = ""
    language: str = ""
    native_format: str = ""
    last: tuple[str, str] | None = None
    pending: tuple[str, str] | None = None
    #: The content hash of its record in a release, if the incoming record comes from one.
    released: str | None = None
    #: Why it cannot be revised now; blank if it can.
    refusal: str = ""
    #: What people have done on it, if it would be revised.
    worked_on: WorkedOn | None = None


@dataclass(slots=True)
class Outcome:
    """The result for a chunk's records."""

    new: list[PreparedDialogue] = field(default_factory=list)
    #: Pairs (dialogue's key, its next revision).
    revised: list[tuple[int, PreparedDialogue]] = field(default_factory=list)
    unchanged: int = 0
    rejected: int = 0
    with_errors: int = 0
    #: Dialogues whose findings are reported.
    checked: int = 0
    #: Pairs (key of a known dialogue, its record's dialogue): whose suggestions are stored. New dialogues have theirs.
    suggested: list[tuple[int, PreparedDialogue]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def suggestions(self) -> int:
        """The number of suggestions to store."""
        return sum(len(one.suggestions) for one in (*self.new, *(dialogue for _, dialogue in self.suggested)))

    def note(
        self,
        record: PreparedRecord,
        pointer: str,
        check: str,
        severity: str,
        message: str,
        *,
        dialogue: PreparedDialogue | None = None,
        rejects: bool = False,
    ) -> None:
        """Add a note about a record, or a dialogue of it."""
        name = (dialogue or record).external_id
        self.notes.append(Note(record.line, record.member, name, pointer, check, severity, message, rejects))

    def reject(self, record: PreparedRecord, dialogue: PreparedDialogue, check: str, sentence: str) -> None:
        """Reject a dialogue."""
        self.rejected += 1
        self.note(record, "/id", check, "error", sentence, dialogue=dialogue, rejects=True)

    def double(self, record: PreparedRecord, dialogue: PreparedDialogue, *, same: bool) -> None:
        """Report a dialogue that appears a second time."""
        named = f"The id “{dialogue.external_id}” appears twice in this file"
        if same:
            self.unchanged += 1
            self.note(record, "/id", "import.duplicate", "warning", f"{named} with the same content. It was read once.")
        else:
            sentence = f"{named} with different content. The first one was read; give this one its own id."
            self.reject(record, dialogue, "import.duplicate", sentence)

    def accept(self, record: PreparedRecord, dialogue: PreparedDialogue) -> None:
        """Report the notes of the reader and the findings of the checks for an accepted dialogue."""
        self.checked += 1
        self.with_errors += any(finding.severity == "error" for finding in dialogue.findings)
        said = [(one.pointer, "import.reading", "warning", one.message) for one in dialogue.warnings]
        said += [(one.anchor, one.check, one.severity, one.message) for one in dialogue.findings]
        for pointer, check, severity, message in said[:NOTES_PER_RECORD]:
            self.note(record, pointer, check, severity, message, dialogue=dialogue)
        if len(said) > NOTES_PER_RECORD:
            left = len(said) - NOTES_PER_RECORD
            self.note(record, "", "import.more", "info", f"{left} more findings. See the dialogue.")

    def group_stays(self, record: PreparedRecord, dialogue: PreparedDialogue, found: Known) -> None:
        """Report a record that puts a dialogue into a variant group other than the project's."""
        name, group = dialogue.external_id, dialogue.variant_group
        # A record of one language does not determine the group. Publishing lets a single dialogue join its record's
        # variants.
        if group in ("", found.group) or (group == name and not found.group):
            return
        has = f"the variant group “{found.group}”" if found.group else "no variant group"
        sentence = (
            f"The project has “{name}” in {has}, but the record puts it in the variant group "
            f"“{group}”. The project’s group was kept. In the file, use the project’s group for "
            f"all variants of “{name}”, or give all of them new ids."
        )
        self.note(record, "/variant_group", GROUP_STAYS, "warning", sentence, dialogue=dialogue)
