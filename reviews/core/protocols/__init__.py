"""Review protocols as data, and their random draws."""

from reviews.core.protocols.outcomes import Combination, combinations, decide, offered_verdicts
from reviews.core.protocols.presets import MAJORITY_OF_THREE, PRESETS, ImpossibleOption, load_preset
from reviews.core.protocols.protocol import (
    Applies,
    AuthorRule,
    Checklist,
    ChecklistItem,
    ContentRule,
    Eligible,
    Entry,
    EntryMode,
    ErrorType,
    Evidence,
    Outcome,
    OutcomeRule,
    Protocol,
    Stage,
    StageKind,
    Verdict,
    read_protocol,
)
from reviews.core.protocols.questions import Question, questions_about
from reviews.core.protocols.random_draws import Allotment, Candidate, draw_round, draw_sample, population_hash
from reviews.core.protocols.validation import validate
