"""The client against a played server."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import assay

Handler = Callable[[httpx.Request], httpx.Response]


def project(handler: Handler) -> assay.Project:
    return assay.Client("https://a.example", "secret", transport=httpx.MockTransport(handler)).project("p")


def refusal(status: int, **more: Any) -> httpx.Response:
    body = {"error": "conflict", "sentence": "It is too late.", "details": {"a": 1}}
    return httpx.Response(status, json=body, **more)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which takes time."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def test_pages_are_read_when_they_are_needed_and_never_from_another_host() -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if "cursor" in request.url.params:
            return httpx.Response(200, json={"next": "https://evil.example/x", "results": [{"n": 2}]})
        # The server is behind a proxy, and calls itself by http.
        return httpx.Response(200, json={"next": "http://a.example/api/x/?cursor=c", "results": [{"n": 1}]})

    rows = project(handler).dialogues(status="verified")
    assert asked == []
    assert next(rows) == {"n": 1}
    assert asked == ["https://a.example/api/projects/p/dialogues/?status=verified"]
    assert next(rows) == {"n": 2}
    assert asked[1:] == ["https://a.example/api/x/?cursor=c"]
    with pytest.raises(assay.NoAnswer, match="another host"):
        next(rows)


def test_an_upload_is_sent_whole_again_and_errors_keep_the_sentence(pauses: list[float], tmp_path: Path) -> None:
    bodies = []
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")

    def handler(request: httpx.Request) -> httpx.Response:
        body = request.read()
        bodies.append(b"{}\n" in body and b'name="reopen_at"\r\n\r\ncross_check' in body)
        return httpx.Response(503, headers={"Retry-After": "7"}) if len(bodies) == 1 else refusal(409)

    with pytest.raises(assay.Conflict, match=r"^It is too late\.$") as caught:
        project(handler).import_file(path, revise=True, reopen_at="cross_check")
    assert (pauses, bodies) == ([7.0], [True, True])
    assert (caught.value.status, caught.value.code, caught.value.details) == (409, "conflict", {"a": 1})


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, assay.Invalid), (401, assay.Unauthorized), (403, assay.Forbidden), (404, assay.NotFound),
     (422, assay.Invalid), (500, assay.ApiError)],
)  # fmt: skip
def test_each_refusal_has_its_type(status: int, kind: type[assay.ApiError], pauses: list[float]) -> None:
    with pytest.raises(kind) as caught:
        project(lambda _request: refusal(status)).read()
    assert type(caught.value) is kind
    assert pauses == []


def test_only_what_changes_nothing_twice_is_sent_again(pauses: list[float]) -> None:
    asked = 0

    def answer(status: int, body: Any = None) -> Handler:
        def handler(_request: httpx.Request) -> httpx.Response:
            nonlocal asked
            asked += 1
            return httpx.Response(status, json=body, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})

        return handler

    def broken(_request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        raise httpx.ReadTimeout("late")

    def unreachable(_request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        raise httpx.ConnectError("nobody")

    def attempts(handler: Handler, act: Callable[[assay.Project], Any], kind: type[assay.ApiError]) -> int:
        nonlocal asked
        asked = 0
        with pytest.raises(kind):
            act(project(handler))
        return asked

    def freeze(one: assay.Project) -> Any:
        return one.freeze("1.0", "wild")

    assert attempts(answer(503), freeze, assay.Busy) == 1
    assert attempts(broken, freeze, assay.NoAnswer) == 1
    assert attempts(answer(502), assay.Project.claim, assay.Busy) == 4
    assert pauses == [0.0] * 3
    assert attempts(broken, assay.Project.read, assay.NoAnswer) == 4
    # Nothing was done in these cases.
    assert attempts(answer(429), freeze, assay.Busy) == 4
    assert attempts(answer(503, {"error": "busy", "sentence": "Wait."}), freeze, assay.Busy) == 4
    assert attempts(unreachable, freeze, assay.NoAnswer) == 4


def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(pauses: list[float]) -> None:
    answers = [httpx.Response(429, headers={"Retry-After": "17"}), httpx.Response(200, json={"slug": "weather"})]
    assert project(lambda _request: answers.pop(0)).read() == {"slug": "weather"}
    assert pauses == [17.0]


def test_a_redirect_is_not_followed_and_says_where_to_go() -> None:
    def handler(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(301, headers={"Location": "https://b.example/?token=x"})

    with pytest.raises(assay.ApiError, match=r"redirects to b\.example\. Use the address"):
        project(handler).read()


def test_a_job_is_followed_to_its_failure_or_its_time() -> None:
    states = iter(["running", "failed"])

    def handler(request: httpx.Request) -> httpx.Response:
        state = "queued" if request.method == "POST" else next(states, "running")
        job = {"state": state, "done": 1, "total": 2, "error": "Nothing is verified." if state == "failed" else ""}
        return httpx.Response(200, json={"public_id": "r", "job": job})

    seen: list[str] = []
    job = project(handler).freeze("1.0", "wild")
    with pytest.raises(assay.JobFailed, match=r"Nothing is verified\.") as caught:
        job.wait(progress=lambda one: seen.append(one["state"]))
    assert seen == ["queued", "running", "failed"]
    assert caught.value.row["job"]["state"] == "failed"
    with pytest.raises(TimeoutError, match="goes on"):
        project(handler).freeze("1.0", "wild").wait(timeout=0)


@pytest.mark.parametrize("url", ["http://a.example", "a.example", "ftp://a.example", "", "https://"])
def test_the_token_goes_to_no_address_that_others_read(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        assay.Client(url, "secret")


def test_a_token_is_never_shown_and_one_that_is_none_is_refused() -> None:
    with assay.Client("http://localhost:8000", " secret\t".strip()) as client:
        assert "secret" not in repr(client)
    for token in ("", "two\nlines", "ключ"):
        with pytest.raises(ValueError, match="API tokens"):
            assay.Client("https://a.example", token)


def test_suggestions_are_sent_in_batches_and_the_refused_ones_are_returned() -> None:
    sizes = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent = json.loads(request.read())["suggestions"]
        sizes.append(len(sent))
        results = [{"result": "refused" if one["value"] == 1001 else "stored"} for one in sent]
        refused = sum(one["result"] == "refused" for one in results)
        counts = {"stored": len(sent) - refused} | ({"refused": refused} if refused else {})
        return httpx.Response(200, json={"counts": counts, "results": results})

    found = project(handler).suggest({"value": n} for n in range(1002))
    assert (sizes, found) == ([1000, 2], {"counts": {"stored": 1001, "refused": 1}, "refused": [{"result": "refused"}]})


def test_work_is_submitted_with_the_document_as_it_is() -> None:
    sent: list[tuple[str, dict[str, Any]]] = []
    row = {"slot": "s", "token": "t", "document": {"tasks": [{"policy": None}]}, "stage": {"key": "check"}}

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("claims/"):
            return httpx.Response(201, json=row) if not sent else httpx.Response(204)
        sent.append((request.url.path, json.loads(request.read())))
        return httpx.Response(201, json={"verdict": "fix"})

    one = project(handler)
    work = one.claim()
    assert work is not None
    assert not work.changed
    work.document["tasks"][0]["policy"] = "chat"
    assert work.changed
    assert work.submit("fix", reason="A label.", checklist={}) == {"verdict": "fix"}
    body = {"token": "t", "verdict": "fix", "document": {"tasks": [{"policy": "chat"}]}, "reason": "A label."}
    assert sent == [("/api/work/s/submit/", body | {"checklist": {}})]
    assert one.claim() is None


class _Broken(httpx.SyncByteStream):
    def __iter__(self) -> Any:
        yield b"half"
        raise httpx.ReadError("cut")


def test_a_download_begins_again_is_compared_and_leaves_nothing_half(tmp_path: Path) -> None:
    content = b"an archive"
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("archive/"):
            asked.append(1)
            return httpx.Response(200, stream=_Broken()) if len(asked) == 1 else httpx.Response(200, content=content)
        sums = [hashlib.sha256(content).hexdigest(), "0" * 64]
        rows = [{"public_id": f"r{n}", "version": f"{n}.0", "sha256": one} for n, one in enumerate(sums, 1)]
        return httpx.Response(200, json={"next": None, "results": rows})

    one = project(handler)
    assert one.release("1.0").download(tmp_path).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["release-1.0.zip"]
    assert len(asked) == 2
    with pytest.raises(assay.ReleaseError, match="SHA-256"):
        one.release("2.0").download(tmp_path / "release-1.0.zip")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]
    with pytest.raises(assay.NotFound, match=r"no release “3\.0”\. It has 1\.0, 2\.0\."):
        one.release("3.0")


def test_a_model_is_run_and_followed_until_its_answers_are_scored() -> None:
    def row(state: str, scoring: str | None, done: int) -> dict[str, Any]:
        job = {"state": state, "done": 0, "total": None, "error": ""}
        score = {"state": scoring, "done": 3, "total": 3, "error": ""} if scoring else None
        return {"public_id": "i", "job": job, "scoring": score, "done": done, "total": 3, "runs": ["r"]}

    states = iter([row("running", None, 2), row("done", "running", 3), row("done", "done", 3)])
    last = row("done", "done", 3)
    sent: list[tuple[str, str, Any]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/projects/p/")
        if request.method != "GET":
            sent.append((request.method, path, json.loads(request.read() or b"null")))
            return (
                httpx.Response(204) if request.method == "DELETE" else httpx.Response(202, json=row("queued", None, 0))
            )
        if path == "inferences/i/":
            return httpx.Response(200, json=next(states, last))
        if path == "runs/r/":
            return httpx.Response(200, json={"public_id": "r", "model": "m", "right": 3, "entries": 3, "figures": []})
        rows = {
            "releases/": [{"public_id": "x", "version": "1.0"}],
            "endpoints/": [{"public_id": "e", "name": "Local"}],
            "releases/x/inferences/": [row("failed", None, 1)],
        }
        return httpx.Response(200, json={"next": None, "results": rows[path]})

    one = project(handler)
    seen: list[tuple[str, int]] = []
    inference = one.release("1.0").run_model("Local", "m", limit=3)
    (run,) = inference.wait(progress=lambda state: seen.append((state["state"], state["done"])))
    assert (run.row["right"], seen) == (3, [("queued", 0), ("running", 2), ("running", 3), ("done", 3)])
    assert sent == [("POST", "releases/x/inferences/", {"endpoint": "e", "model": "m", "limit": 3})]
    with pytest.raises(assay.NotFound, match=r"no endpoint “Remote”\. It has Local\."):
        one.release("1.0").run_model("Remote", "m")
    (stopped,) = one.release("1.0").inferences()
    with pytest.raises(assay.JobFailed, match="failed"):
        stopped.wait()
    # A limit that is not named stays; None is no limit.
    stopped.resume(token_budget=None)
    stopped.resume(cost_budget="1.5").cancel()
    one.release("1.0").ask_person("a", name="Ann")
    one.replace_key("e", "sk-1")
    one.rotate_webhook("w")
    one.remove_webhook("w")
    assert sent[1:] == [
        ("POST", "inferences/i/continue/", {"token_budget": None}),
        ("POST", "inferences/i/continue/", {"cost_budget": "1.5"}),
        ("POST", "inferences/i/cancel/", {}),
        ("POST", "releases/x/baselines/", {"person": "a", "name": "Ann"}),
        ("PATCH", "endpoints/e/", {"key": "sk-1"}),
        ("POST", "webhooks/w/rotate/", {}),
        ("DELETE", "webhooks/w/", None),
    ]
