import re
from collections import Counter

from scripts.suite_report import Outcome, read_outcome, summary_lines

JUNIT = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two"><failure message="no">trace</failure></testcase>
<testcase classname="tests.test_a" name="test_three"><error message="no">setup</error></testcase>
<testcase classname="tests.test_a" name="test_two"><error message="no">teardown</error></testcase>
<testcase classname="tests.test_a" name="test_four"><skipped message="NOT TESTED: Redis: none"/></testcase>
<testcase classname="tests.test_a" name="test_five"><skipped message="Skipped: NOT TESTED: Redis: none"/></testcase>
</testsuite></testsuites>"""


def test_counts_are_read_from_the_junit_file(tmp_path):
    file = tmp_path / "results.xml"
    file.write_text(JUNIT)
    outcome = read_outcome(file, 1)
    assert (outcome.passed, outcome.failed) == (1, 2)
    assert outcome.failures == ["tests.test_a::test_two", "tests.test_a::test_three"]
    assert outcome.skipped == Counter({"Redis: none": 2})


def test_pytest_that_breaks_counts_as_a_failure(tmp_path):
    assert read_outcome(tmp_path / "absent.xml", 3).failed == 1
    assert read_outcome(tmp_path / "absent.xml", -9).failures == ["pytest failed with exit code -9"]


def test_part_without_a_matching_test_is_no_failure(tmp_path):
    assert read_outcome(tmp_path / "absent.xml", 5) == Outcome()


def test_counts_stand_alone_on_the_last_line():
    parts = {
        "SQLite": Outcome(passed=7, failed=1, failures=["tests.test_a::test_two"]),
        "PostgreSQL": Outcome(passed=5),
    }
    lines = summary_lines(parts, {}, 90)
    assert lines[-1] == "12 passed, 1 failed, 0 skipped"
    assert re.fullmatch(r"\d+ passed, \d+ failed, \d+ skipped", lines[-1])
    assert "  tests.test_a::test_two" in lines
    assert "  in 1.5 minutes" in lines


def test_what_was_not_tested_is_listed_loudly():
    parts = {"SQLite": Outcome(passed=7, skipped=Counter({"real data: the folder is absent": 2}))}
    text = "\n".join(summary_lines(parts, {"PostgreSQL": "races were not tested."}, 1))
    assert "!!! NOT TESTED !!!" in text
    assert "  PostgreSQL: races were not tested." in text
    assert "  2 tests: real data: the folder is absent" in text
    assert text.endswith("7 passed, 0 failed, 2 skipped")


def test_complete_run_says_so():
    assert "Nothing was skipped" in "\n".join(summary_lines({"SQLite": Outcome(passed=1)}, {}, 1))
