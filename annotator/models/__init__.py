"""Tables of projects, people, dialogues and their surroundings."""

from annotator.core.roles import Role
from annotator.models.archiving import ArchivedProject, ProjectDeletion
from annotator.models.attempts import AttemptCount
from annotator.models.composites import CompositeMember
from annotator.models.content import (
    Dialogue,
    Draft,
    DraftStep,
    Finding,
    Revision,
    StepState,
    Waiver,
)
from annotator.models.continuations import Continuation
from annotator.models.events import Event
from annotator.models.executions import Execution
from annotator.models.jobs import Job, JobCancellation, JobState, PeriodicTask
from annotator.models.messages import MessageField
from annotator.models.metadata import DialogueMetadata
from annotator.models.notices import MAILED_BY_DEFAULT, Digest, Notice, NoticeKind, NoticeSettings
from annotator.models.operations import DailySize, InstalledVersion, Worker
from annotator.models.outdated import GuidelineChange, OutdatedDialogue
from annotator.models.people import (
    ApiToken,
    Guideline,
    GuidelineAcceptance,
    Invitation,
    MemberAbilities,
    Membership,
    Project,
    User,
)
from annotator.models.replays import Replay
from annotator.models.saved_views import SavedView
from annotator.models.security import CacheEntry, SecurityEvent
from annotator.models.suggestions import DecisionOutcome, StoredSuggestion, SuggestionDecision
from annotator.models.tags import DialogueTag
from annotator.models.toolsets import Toolset, ToolsetCategory, ToolsetRevision, ToolsetTag
from annotator.models.trials import TrialRows, ValidatorTrial
from annotator.models.variants import VariantMatch
from annotator.models.webhooks import CHOSEN_EVENTS, DeliveryState, Webhook, WebhookDelivery, WebhookEvent
