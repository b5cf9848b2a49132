from django.apps import AppConfig


class BenchmarkConfig(AppConfig):
    name = "benchmark"

    def ready(self) -> None:
        # Whoever starts or runs jobs must know their kinds.
        from annotator.services.history_checks import PROJECT_RECORDS
        from benchmark.services import import_runner, import_trials, near_duplicates, release_runner, upload_retention  # noqa: F401
        from benchmark.services.release_freezing import where_released
        from benchmark.services.releases import archive_faults
        from reviews.services.gold_making import PUBLIC_IN
        from reviews.services.gold_shown import FOUND_ON_IMPORT

        PROJECT_RECORDS.append(archive_faults)
        PUBLIC_IN.append(where_released)
        FOUND_ON_IMPORT.append(near_duplicates.found_on_import)
