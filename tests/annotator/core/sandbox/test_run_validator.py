"""``manage.py run_validator``: a line out for each response, refusals as sentences, exit codes."""

import io
import json

import pytest
from django.core.management import call_command

from annotator.core.sandbox import SandboxUnavailable, host
from annotator.management.base import Stop

SOURCE = "def validate_format(response):\n    return response.endswith('.'), f'{len(response)} characters'\n"


@pytest.fixture
def files(tmp_path):
    source, responses = tmp_path / "check.py", tmp_path / "responses.jsonl"
    source.write_text(SOURCE)
    responses.write_text('"Well."\n\n"No"\n')
    return source, responses


def run(source, responses, function="validate_format"):
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command("run_validator", str(source), function=function, responses=str(responses), stdout=out, stderr=err)
    except SystemExit as ended:
        code = ended.code
    return code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()


def test_each_response_gets_a_line(files):
    code, rows, words = run(*files)
    assert code == 0
    assert rows == [
        {"status": "ok", "accepted": True, "message": "5 characters"},
        {"status": "ok", "accepted": False, "message": "2 characters"},
    ]
    assert words == "Responses: 2; accepted: 1; failed: 0.\n"


def test_a_failing_validator_is_told_on_each_line_and_in_the_exit_code(files):
    code, rows, words = run(*files, function="validate")
    assert code == 1
    assert {row["status"] for row in rows} == {"missing_function"}
    assert {row["accepted"] for row in rows} == {None}
    assert "failed: 2." in words


@pytest.mark.parametrize(
    ("line", "sentence"),
    [("7", "Line 1 is not a JSON string."), ("{", "Line 1 is not JSON"), ("", "no lines")],
)
def test_wrong_input_is_a_sentence(files, line, sentence):
    files[1].write_text(line)
    with pytest.raises(Stop, match=sentence) as stop:
        run(*files)
    assert stop.value.returncode == 2


def test_a_missing_file_is_a_sentence(files, tmp_path):
    with pytest.raises(Stop, match="Can’t read"):
        run(tmp_path / "absent.py", files[1])
    with pytest.raises(Stop, match="Can’t read"):
        run(files[0], tmp_path / "absent.jsonl")


def test_a_source_in_another_encoding_is_a_failure_of_the_code(files):
    files[0].write_bytes(b"x = '\xff'\n" + SOURCE.encode())
    assert run(*files)[1][0]["status"] == "syntax_error"


def test_without_a_sandbox_nothing_runs(files, monkeypatch):
    def refuse(self):
        raise SandboxUnavailable("There is no sandbox here.")

    monkeypatch.setattr(host.Sandbox, "start", refuse)
    with pytest.raises(Stop, match="There is no sandbox here"):
        run(*files)
