from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"

    def ready(self) -> None:
        # Importing these modules registers their kinds of jobs and messages.
        from annotator.services.access.blindness import BLIND, REVIEWED_BLIND
        from annotator.services.archiving import COUNT_OPEN_WORK, RESTORED
        from annotator.services.integrity.history_checks import PROJECT_RECORDS, RECORDS
        from annotator.services.members import DESCRIBE_LOST_WORK, RELEASE_LOST_WORK, ROLE_GRANTED
        from reviews.services import personal_data  # noqa: F401
        from reviews.services.assignments.member_removal import describe_claims, release_claims, retire_tests
        from reviews.services.cycles import migration, toolset_changes  # noqa: F401
        from reviews.services.gold.settings import retire_with_stages
        from reviews.services.history import webhook_messages  # noqa: F401
        from reviews.services.history.record_checks import project_record_problems, record_problems
        from reviews.services.protocols.versions import REPLACED
        from reviews.services.queue.claims import count_claims, extend_claims
        from reviews.services.sampling import draws  # noqa: F401
        from reviews.services.toolset_review.waiting import follow_toolset
        from reviews.services.transitions.moves import VERIFIED
        from reviews.services.transitions.sealing import blind_for, reviewed_blind

        COUNT_OPEN_WORK.append(count_claims)
        RESTORED.append(extend_claims)
        REPLACED.append(retire_with_stages)
        VERIFIED.append(follow_toolset)
        BLIND.append(blind_for)
        REVIEWED_BLIND.append(reviewed_blind)
        RECORDS.append(record_problems)
        PROJECT_RECORDS.append(project_record_problems)
        DESCRIBE_LOST_WORK.append(describe_claims)
        RELEASE_LOST_WORK.append(release_claims)
        ROLE_GRANTED.append(retire_tests)
