from django.apps import AppConfig


class BenchmarkConfig(AppConfig):
    name = "benchmark"

    def ready(self) -> None:
        # Importing these modules registers their kinds of jobs and messages.
        from annotator.services.archiving import BEFORE_RESTORING, COUNT_OPEN_WORK, RESTORED
        from annotator.services.dialogues.revisions import BEFORE_STORING
        from annotator.services.integrity.history_checks import PROJECT_RECORDS
        from annotator.services.members import DESCRIBE_LOST_WORK, RELEASE_LOST_WORK
        from annotator.services.quotas import COUNT_FILES
        from benchmark.core.formats.outdated_remainder import forget_outdated
        from benchmark.core.generation.kinds import Kind
        from benchmark.services import personal_data, plays, webhook_messages  # noqa: F401
        from benchmark.services.composing import where_composed
        from benchmark.services.constructing.rewritten import finish_rewriting
        from benchmark.services.constructing.runner import record_construction
        from benchmark.services.constructing.sources import where_constructed
        from benchmark.services.coverage.coverage_first import set_by_people
        from benchmark.services.dataset_statistics import selections  # noqa: F401
        from benchmark.services.file_sizes import file_sizes
        from benchmark.services.generation import claim_changes
        from benchmark.services.generation import runner as generation_runner  # noqa: F401
        from benchmark.services.generation.finishing import FINISHERS
        from benchmark.services.generation.layers import where_continued
        from benchmark.services.imports import recognising, runner, trials, upload_retention  # noqa: F401
        from benchmark.services.imports.publishing import AFTER_PUBLISHING
        from benchmark.services.inference import baselines  # noqa: F401
        from benchmark.services.inference import runner as inference_runner  # noqa: F401
        from benchmark.services.project_data import export  # noqa: F401
        from benchmark.services.project_data.deletion import refuse_if_planned
        from benchmark.services.releases import runner as release_runner  # noqa: F401
        from benchmark.services.releases.errata import errata_problems
        from benchmark.services.releases.freezing import where_released
        from benchmark.services.releases.requests import archive_problems
        from benchmark.services.runs import file_retention, rescoring, scoring, withdrawn  # noqa: F401
        from benchmark.services.sampling import runner as sampling_runner  # noqa: F401
        from benchmark.services.similarity.search import found_on_import
        from benchmark.views.answers import links_to_answers
        from benchmark.views.generation_claims import work_in_generations
        from benchmark.views.generations import links_to_generation
        from benchmark.views.similar import links_to_group
        from benchmark.views.translations import links_to_renewal, links_to_translation
        from reviews.services.assignments.changes import PRIORITISED
        from reviews.services.gold.creation import PUBLIC_IN
        from reviews.services.gold.shown_dialogue import FOUND_ON_IMPORT
        from reviews.views.dialogues import MORE_LINKS
        from reviews.views.project import MORE_WORK
        from reviews.views.variants import MORE_LINKS as LINKS_OF_VARIANTS

        AFTER_PUBLISHING.append(record_construction)
        FINISHERS[Kind.REWRITING] = finish_rewriting
        COUNT_FILES.append(file_sizes)
        BEFORE_RESTORING.append(refuse_if_planned)
        BEFORE_STORING.append(forget_outdated)
        COUNT_OPEN_WORK.append(claim_changes.count_claims)
        DESCRIBE_LOST_WORK.append(claim_changes.describe_claims)
        RELEASE_LOST_WORK.append(claim_changes.release_claims)
        RESTORED.append(claim_changes.extend_claims)
        MORE_LINKS.extend((links_to_answers, links_to_generation, links_to_group, links_to_translation))
        LINKS_OF_VARIANTS.append(links_to_renewal)
        MORE_WORK.append(work_in_generations)
        PRIORITISED.append(set_by_people)
        PROJECT_RECORDS.extend((archive_problems, errata_problems))
        PUBLIC_IN.append(where_released)
        PUBLIC_IN.append(where_composed)
        PUBLIC_IN.append(where_constructed)
        PUBLIC_IN.append(where_continued)
        FOUND_ON_IMPORT.append(found_on_import)
