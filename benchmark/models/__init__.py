"""Tables of imports, releases and runs of models."""

from benchmark.models.coverage import CoverageFirst, CoverageTarget, RaisedDialogue, TargetDimension
from benchmark.models.errata import ErrataLink, Erratum, ErratumReport, NotReopened, ReportState
from benchmark.models.generation import (
    CallState,
    Chooser,
    Generation,
    GenerationSettings,
    GenerationStatus,
    ModelCall,
    PromptTemplate,
    RoleModel,
)
from benchmark.models.generation_claims import GenerationClaim
from benchmark.models.generation_work import Proposal, ProposalOutcome, Recording
from benchmark.models.inference import (
    BaselineEntry,
    BaselineState,
    Endpoint,
    Inference,
    InferenceAnswer,
    InferenceReply,
)
from benchmark.models.modes import HISTORIES, THINKING, TOOL_MODES, Mode
from benchmark.models.releases import (
    AtConflicts,
    ImportBatch,
    ImportMapping,
    ImportNote,
    LeftOutDialogue,
    MergedRecord,
    NativeLine,
    Release,
    ReleaseItem,
    ReleaseSettings,
    ReleaseState,
)
from benchmark.models.runs import (
    EntryStatistic,
    Figure,
    Prediction,
    PredictionFile,
    Recount,
    Run,
    RunPair,
    Score,
    ScoreSet,
    SentBack,
    SharedBoard,
)
from benchmark.models.sampling import ConstructedPart, QueryOutcome, SampledQuery, Sampling
from benchmark.models.similarity import SimilarDialogue, SimilarityBand, SimilaritySettings, SimilarPair
