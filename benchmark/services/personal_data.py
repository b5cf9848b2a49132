"""What benchmarks store about a person: see ``annotator.services.accounts.personal_data``."""

from annotator.services.accounts.personal_data import IN_HISTORY, NOT_EXPORTED, OF_A_MOMENT, PERSONAL_DATA, table

PERSONAL_DATA += [
    table("benchmark.ErratumReport.reporter", "public_id statistic text place state created_at"),
    table("benchmark.Inference.person", "public_id name total done created_at"),
]
NOT_EXPORTED |= {
    "benchmark.GenerationClaim.person": OF_A_MOMENT,
    **dict.fromkeys(
        (
            "benchmark.CoverageFirst.changed_by", "benchmark.CoverageTarget.changed_by", "benchmark.Endpoint.requester",
            "benchmark.ErrataLink.requester", "benchmark.ErratumReport.decided_by", "benchmark.Generation.requester",
            "benchmark.ImportBatch.requester", "benchmark.ImportMapping.changed_by", "benchmark.Inference.requester",
            "benchmark.PredictionFile.requester", "benchmark.PromptTemplate.author", "benchmark.Proposal.decided_by",
            "benchmark.Recount.requester", "benchmark.Release.requester", "benchmark.ReleaseSettings.changed_by",
            "benchmark.Run.requester", "benchmark.Sampling.requester", "benchmark.SentBack.requester",
            "benchmark.SharedBoard.requester", "benchmark.SimilaritySettings.changed_by",
        ),
        IN_HISTORY,
    ),
}  # fmt: skip
