"""Requests to endpoints that answer well, badly, or never."""

import json
import socket
import threading
import time

import pytest

from annotator.errors import Invalid
from annotator.services.outgoing import guarded_http
from annotator.services.outgoing.guarded_http import is_public
from benchmark.core.inference.asking import Ask
from benchmark.demo.chat_server import called, completion, said, serving
from benchmark.services.inference import client as clients
from benchmark.services.inference.client import ChatClient, Halted, Pace, Refused
from benchmark.services.inference.endpoints import check_url
from benchmark.services.inference.keys import decrypt_key, encrypt_key
from benchmark.services.inference.options import Options

KEY = "sk-secret-0123456789"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
ASK = Ask([{"role": "user", "content": "Weather?"}], [TOOL])


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Retries come at once."""
    monkeypatch.setattr(clients, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(clients, "_LONGEST_WAIT", 0.002)


def ask(script, *, is_allowed=lambda host: True, url=None, **options):
    """What a request comes to, and what the endpoint was asked."""
    with serving(script) as server:
        client = ChatClient(url or server.url, KEY, "model-1", Options(**options), is_allowed=is_allowed)
        try:
            return client.ask(ASK, "key-1"), server
        finally:
            client.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("message", [said("Sunny. ☀"), called(("f", {"city": "Oslo"}), ("f", {}))])
def test_a_reply_whole_or_in_pieces(message, stream):
    answered, server = ask(lambda body: message, stream=stream, temperature=0.5, extra={"reasoning_effort": "high"})
    assert (answered.message.get("content") or "") == message.get("content", "")
    functions = [one["function"] for one in answered.message.get("tool_calls", ())]
    assert [(one["name"], one["arguments"]) for one in functions] == [
        (one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls", ())
    ]
    assert (answered.model, answered.input_tokens, answered.output_tokens) == ("model-1", 100, 10)
    (body,) = server.asked
    assert (body["temperature"], body["reasoning_effort"], body["messages"]) == (0.5, "high", list(ASK.messages))
    assert "seed" not in body
    (headers,) = server.headers
    assert (headers["authorization"], headers["idempotency-key"]) == (f"Bearer {KEY}", "key-1")


def test_tokens_are_estimated_where_the_endpoint_does_not_count_them():
    answered, _ = ask(lambda body: lambda handler: handler.json(200, completion(body, said("x" * 400), usage=None)))
    assert answered.input_tokens > 0
    assert answered.output_tokens >= 100


def test_what_an_endpoint_says_beside_the_message_does_no_harm():
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    message = {"content": [{"type": "text", "text": "Yes."}, 5], "tool_calls": [5, {"function": 5}], "more": deep,
               "reasoning_content": "Hm."}  # fmt: skip
    usage = {"prompt_tokens": 10**30, "completion_tokens": "many"}
    answered, _ = ask(lambda body: lambda handler: handler.json(200, completion(body, message, usage=usage)))
    assert answered.message == {
        "role": "assistant", "content": "Yes.", "reasoning": "Hm.",
        "tool_calls": [{"id": "", "type": "function", "function": {"name": "", "arguments": ""}}],
    }  # fmt: skip
    assert answered.input_tokens == 10_000_000


def once(status, **headers):
    """A script that answers with a status first, then well."""
    seen = []

    def script(body):
        seen.append(body)
        if len(seen) == 1:
            return lambda handler: handler.json(status, {"error": {"message": "Not now."}}, **headers)
        return said("Well.")

    return script


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_an_endpoint_that_is_busy_is_asked_again(status):
    answered, server = ask(once(status))
    assert answered.message["content"] == "Well."
    assert len(server.asked) == 2


def test_an_endpoint_says_when_to_ask_again():
    began = time.monotonic()
    answered, _ = ask(once(429, Retry_After="1"))
    assert answered.message["content"] == "Well."
    assert time.monotonic() - began >= 1


def fails(status, text):
    return lambda body: lambda handler: handler.json(status, {"error": {"message": text}})


@pytest.mark.parametrize(
    ("script", "error", "sentence"),
    [
        (fails(429, "Slow down."), Halted, "status 429"),
        (fails(503, "Overloaded."), Halted, "status 503"),
        (fails(401, f"Wrong key {KEY}."), Halted, "Wrong key [key]."),
        (fails(404, "No such model."), Halted, "No such model."),
        (fails(400, "Too long."), Refused, "Status 400"),
        (fails(422, "No tools."), Refused, "No tools."),
        (lambda body: lambda h: h.send(200, b"<html>Welcome</html>", "text/html"), Halted, "<html>Welcome</html>"),
        (lambda body: lambda h: h.send(502, b"<html>Bad gateway</html>", "text/html"), Halted, "status 502"),
        (lambda body: lambda h: h.send(302, b"", "text/plain", Location="http://127.0.0.1:9/"), Halted, "status 302"),
        (lambda body: lambda h: h.send(200, b"{", "application/json"), Halted, "doesn’t answer as"),
        (lambda body: lambda h: h.json(200, [1]), Halted, "doesn’t answer as"),
        (lambda body: lambda h: h.json(200, {"choices": []}), Refused, "without a message"),
        (lambda body: lambda h: h.json(200, {"choices": [{"message": None}]}), Halted, "doesn’t answer as"),
    ],
)
def test_what_an_endpoint_may_answer_instead(script, error, sentence, monkeypatch):
    monkeypatch.setattr(clients, "GIVE_UP", 0.2)
    with pytest.raises(error) as raised:
        ask(script)
    assert sentence in str(raised.value)
    assert KEY not in str(raised.value)


def test_an_endpoint_that_is_not_there(monkeypatch):
    monkeypatch.setattr(clients, "GIVE_UP", 0.2)
    with pytest.raises(Halted, match="can’t be reached"):
        ask(lambda body: said(""), url="http://127.0.0.1:9/v1")


def test_an_endpoint_that_hangs_is_left_after_a_few_tries():
    hung, third, asked = threading.Event(), threading.Event(), []

    def hang(handler):
        asked.append(1)
        if len(asked) == 3:
            third.set()
        hung.wait(20)

    with pytest.raises(Halted, match="didn’t answer within 1 seconds"):
        ask(lambda body: hang, timeout=1)
    assert third.wait(20)
    hung.set()
    assert len(asked) == 3


def drip(handler):
    """Send pieces for ever."""
    handler.begin_stream()
    while True:
        handler.event({"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [
            {"index": 0, "delta": {"content": "so "}, "finish_reason": None}]})  # fmt: skip
        time.sleep(0.01)


def test_an_endpoint_that_streams_for_ever_is_left(monkeypatch):
    with pytest.raises(Halted, match=r"didn’t answer within 0\.3 seconds"):
        ask(lambda body: drip, timeout=0.3, stream=True)
    monkeypatch.setattr(guarded_http, "MAX_RESPONSE", 10_000)
    with pytest.raises(Refused, match="too large"):
        ask(lambda body: drip, timeout=20, stream=True)


def test_a_reply_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(guarded_http, "MAX_RESPONSE", 10_000)
    with pytest.raises(Refused, match="too large"):
        ask(lambda body: said("x" * 20_000))


def test_half_a_surrogate_pair_can_be_stored():
    answered, _ = ask(lambda body: lambda h: h.send(
        200, json.dumps(completion(body, said("a\ud800b"))).encode(), "application/json"))  # fmt: skip
    assert answered.message["content"] == "a?b"


def test_a_server_connects_only_where_it_may():
    with pytest.raises(Halted, match="not public"):
        ask(lambda body: said(""), is_allowed=lambda host: False)
    answered, _ = ask(lambda body: said("Yes."), is_allowed=lambda host: host == "127.0.0.1")
    assert answered.message["content"] == "Yes."


def test_every_address_of_a_name_is_tried_and_each_must_be_public(monkeypatch):
    """The first address can't be reached; the second is this machine, which counts as public here."""
    monkeypatch.setattr(guarded_http, "is_public", lambda address: address.startswith("127."))
    resolved = ["127.0.0.2", "127.0.0.1"]
    resolve = socket.getaddrinfo

    def look_up(host, port, *arguments, **more):
        if host != "models.example":
            return resolve(host, port, *arguments, **more)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in resolved]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(clients, "GIVE_UP", 5.0)
    with serving(lambda body: said("Yes.")) as server:
        url = f"http://models.example:{server.server_address[1]}/v1"
        for known in (True, False):
            client = ChatClient(url, KEY, "m", Options(), is_allowed=lambda host: False)
            if known:
                assert client.ask(ASK, "1").message["content"] == "Yes."
            else:
                with pytest.raises(Halted, match="not public"):
                    client.ask(ASK, "1")
            client.close()
            resolved.append("10.0.0.1")


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1",
     "fd00::1", "100.64.0.1"],
)  # fmt: skip
def test_addresses_of_private_networks_are_not_public(address):
    assert not is_public(address)


def test_public_addresses_are_public():
    assert is_public("1.1.1.1")
    assert is_public("2606:4700::1111")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://api.example.com", "must be an address"), ("api.example.com/v1", "must be an address"),
        ("https://", "must be an address"), ("https://[::1", "must be an address"),
        ("https://a:b@api.example.com/v1", "no user name"), ("https://api.example.com/v1?key=1", "no user name"),
        ("http://api.example.com/v1", "Use https"), ("https://10.0.0.1/v1", "not public"),
        ("https://localhost/v1", "not public"), ("https://api.example.com:x/v1", "must be an address"),
    ],
)  # fmt: skip
def test_bad_base_urls(settings, url, sentence):
    settings.ENDPOINT_HOSTS = []
    with pytest.raises(Invalid, match=sentence):
        check_url(url)


def test_good_base_urls(settings):
    settings.ENDPOINT_HOSTS = ["models.internal"]
    assert check_url(" https://api.example.com/v1/ ") == "https://api.example.com/v1"
    assert check_url("http://models.internal:8000/v1") == "http://models.internal:8000/v1"


def test_keys_are_encrypted_and_survive_a_change_of_the_secret_key(settings):
    stored = encrypt_key(KEY)
    assert KEY not in stored
    assert decrypt_key(stored) == KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 10, [settings.SECRET_KEY]
    assert decrypt_key(stored) == KEY
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(Exception, match="secret key has changed"):
        decrypt_key(stored)


def test_requests_are_spread_over_the_minute():
    pace, stop = Pace(6_000), threading.Event()
    began = time.monotonic()
    for _ in range(11):
        pace.wait(stop)
    assert time.monotonic() - began >= 0.1
    stop.set()
    Pace(1).wait(stop)
