"""Tables of the review process.

Many rows copy a key of the row they belong to (a slot its cycle, dialogue and project), so that claim and submit read
one table. These copies have no foreign key constraint: the original has it, and each further constraint costs a look-up
and a lock on the project's row in each transaction.
"""

from reviews.core.protocols import Verdict
from reviews.models.agreement import AgreementCount, AgreementPending
from reviews.models.co_authors import CoAuthor
from reviews.models.comments import Comment, Feedback, FeedbackKind
from reviews.models.counts import Counter, CounterDelta
from reviews.models.cycles import Cycle, CycleState, ProtocolVersion, StageRun, StageRunState
from reviews.models.disputed_feedback import DisputeState, FeedbackDispute, FeedbackReply
from reviews.models.examples import Example
from reviews.models.goals import DailyGoal
from reviews.models.gold import GoldItem, GoldRate, GoldScore
from reviews.models.item_history import ItemHistory, ItemHistoryCount, ItemHistoryPending
from reviews.models.pausing import ON_DIALOGUES, AssignmentPlan, AssignmentRules, Pause, PlanAction, PlanChange
from reviews.models.review_sessions import ReviewSession, SessionDecision
from reviews.models.reviews import Review, ReviewDraft, ReviewError, Ruling
from reviews.models.samples import DiscrepancyAlarm, Draw, DrawItem, SensitivityTest, SentBackStratum
from reviews.models.slots import Claim, ClaimState, Priority, QueueCursor, Slot, SlotState
from reviews.models.toolset_verifications import ToolsetItem, ToolsetVerification
from reviews.models.training import Trainee, TraineeState, Training, TrainingResult
from reviews.models.workload import WorkloadCount, WorkloadPending
