/// <reference lib="deno.ns" />
// The queue of edits, without a page: what it sends, what it keeps, and when it tries again.
import assert from "node:assert/strict";

import {crosses, EditQueue} from "../../static/app/edit-queue.js";

/** A queue in surroundings that a test steers: every post waits for `answer`, every pause for `pass`. */
function harness({draft = "d1"} = {}) {
  const posts = [];
  const states = [];
  const pauses = [];
  const around = {
    online: true,
    unfinished: false,
    refusals: 0,
    posts,
    states,
    pauses,
    draft: () => draft,
    storage: () => sessionStorage,
    isOnline: () => around.online,
    isUnfinished: () => around.unfinished,
    post(edit) {
      const {promise, resolve, reject} = Promise.withResolvers();
      posts.push({edit, resolve, reject, seen: edit.seen});
      return promise;
    },
    show: (state) => states.push(state),
    forgetRefusals: () => (around.refusals += 1),
    later(act, seconds) {
      const pause = {act, seconds};
      pauses.push(pause);
      return () => {
        if (pauses.includes(pause)) pauses.splice(pauses.indexOf(pause), 1);
      };
    },
  };
  const queue = new EditQueue(around);
  return {
    queue,
    around,
    sent: () => posts.map(({edit}) => edit.body),
    type: (anchor, body, more = {}) => queue.add(queue.edit({anchor, body, op: "set", url: "/edit", seen: 7, ...more})),
    press: (body, more = {}) => queue.add(queue.edit({anchor: null, body, op: body, url: "/edit", seen: 7, ...more})),
    /** The last post is answered; the queue does all that follows at once. */
    async answer(outcome, more = {}) {
      const {edit, resolve} = posts.at(-1);
      Object.assign(edit, {outcome, ...more});
      resolve();
      await settled();
    },
    async pass() {
      pauses.shift().act();
      await settled();
    },
  };
}

/** All that needs no answer and no pause has happened: the queue waits for nothing else. */
async function settled() {
  for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
}

function stored() {
  return Object.keys(sessionStorage).sort().map((key) => JSON.parse(sessionStorage.getItem(key)));
}

function test(name, act) {
  Deno.test(name, async () => {
    sessionStorage.clear();
    await act();
  });
}

test("edits go one at a time, in the order they were made", async () => {
  const {queue, around, type, press, answer, sent} = harness();
  type("/a", "first");
  press("delete");
  type("/b", "second");
  assert.deepEqual(sent(), ["first"]);
  await answer("saved");
  assert.deepEqual(sent(), ["first", "delete"]);
  await answer("saved");
  await answer("saved");
  assert.deepEqual(sent(), ["first", "delete", "second"]);
  assert.deepEqual([queue.state, queue.edits, stored()], ["saved", [], []]);
  assert.deepEqual(around.states, ["saving", "saving", "saving", "saved"]);
});

test("typing replaces what is not on its way yet at the same place, and nothing else", async () => {
  const {queue, type, press, answer, sent} = harness();
  type("/a", "on its way");
  type("/b", "b");
  type("/a", "older");
  type("/a", "newer");
  press("move");
  type("/b", "after the button");
  assert.deepEqual(queue.edits.map(({body}) => body), ["on its way", "b", "newer", "move", "after the button"]);
  assert.equal(queue.isOutdated(queue.current), true);
  for (let left = queue.edits.length; left; left -= 1) await answer("saved");
  assert.deepEqual(sent(), ["on its way", "b", "newer", "move", "after the button"]);
});

test("what was tried once is sent as it was, and what was typed since comes after it", async () => {
  const {type, answer, sent} = harness();
  type("/a", "old");
  await answer("offline");
  type("/a", "new");
  assert.deepEqual(sent(), ["old", "old"]);
  await answer("saved");
  assert.deepEqual(sent(), ["old", "old", "new"]);
});

test("the same edit is tried again under the same id, after longer and longer pauses", async () => {
  const {queue, around, type, answer, pass} = harness();
  type("/a", "words");
  const seconds = [];
  for (let tries = 0; tries < 6; tries += 1) {
    await answer("offline");
    assert.equal(queue.state, "offline");
    seconds.push(around.pauses[0].seconds);
    assert.deepEqual(stored().map(({tries}) => tries), [tries + 1]);
    await pass();
  }
  assert.deepEqual(seconds, [2, 5, 15, 30, 60, 60]);
  assert.equal(new Set(around.posts.map(({edit}) => edit.id)).size, 1);
  await answer("saved");
  assert.deepEqual([queue.state, around.pauses, stored()], ["saved", [], []]);
  type("/a", "later");
  await answer("offline", {retryAfter: 40});
  assert.deepEqual([around.pauses[0].seconds, stored()[0].retryAfter], [40, undefined]);
  await pass();
  await answer("offline");
  assert.equal(around.pauses[0].seconds, 5);
});

test("as long as the server asked to wait, further edits wait too, unless the user presses the button", async () => {
  const {queue, around, type, answer, pass, sent} = harness();
  type("/a", "words");
  await answer("maintenance", {retryAfter: 30});
  type("/b", "more");
  await settled();
  assert.deepEqual([queue.state, queue.edits.length, around.posts.length, around.pauses.length], ["maintenance", 2, 1, 1]);
  await pass();
  await answer("maintenance", {retryAfter: 30});
  queue.retry();
  await answer("saved");
  await answer("saved");
  assert.deepEqual([queue.state, sent()], ["saved", ["words", "words", "words", "more"]]);
});

test("without a connection nothing is sent; when it comes back the edits go at once", async () => {
  const {queue, around, type, answer, sent} = harness();
  around.online = false;
  type("/a", "words");
  await settled();
  assert.deepEqual([queue.state, sent(), stored().length, around.pauses.length], ["offline", [], 1, 1]);
  around.online = true;
  queue.retry({reset: true});
  assert.deepEqual([sent(), around.pauses], [["words"], []]);
  await answer("saved");
  assert.equal(queue.state, "saved");
});

test("a request that breaks off counts as no answer", async () => {
  const {queue, around, type} = harness();
  type("/a", "words");
  around.posts[0].reject(new TypeError("no network"));
  await settled();
  assert.deepEqual([queue.state, queue.edits.length, around.pauses.length], ["offline", 1, 1]);
});

test("a conflict stops the queue until it is decided; later edits of the place are made on the decision", async () => {
  const {queue, around, type, answer, sent} = harness();
  type("/a", "mine");
  type("/a", "mine, longer");
  type("/b", "besides");
  await answer("conflict");
  await queue.run();
  queue.retry();
  assert.deepEqual([queue.state, sent(), around.pauses], ["conflict", ["mine"], []]);
  assert.deepEqual(queue.inConflict.map(({body}) => body), ["mine"]);
  queue.decide(12);
  assert.deepEqual(sent(), ["mine", "mine, longer"]);
  await answer("saved");
  await answer("saved");
  assert.deepEqual(around.posts.map(({seen}) => seen), [7, 12, 7]);
  assert.deepEqual([queue.state, stored()], ["saved", []]);
});

test("a conflict that is dropped takes its edit along, also out of the browser", async () => {
  const {queue, type, answer} = harness();
  type("/a", "mine");
  await answer("conflict");
  queue.dropConflict();
  assert.deepEqual([queue.edits, stored()], [[], []]);
});

test("refused words stay until the next edit of their place, and the others go on", async () => {
  const {queue, around, type, answer, sent} = harness();
  type("/a", "too long");
  type("/b", "fine");
  await answer("refused");
  assert.deepEqual(sent(), ["too long", "fine"]);
  await answer("saved");
  assert.deepEqual([queue.state, stored().map(({state}) => state), around.refusals], ["refused", ["refused"], 0]);
  type("/a", "shorter");
  await answer("saved");
  assert.deepEqual([queue.state, queue.edits, around.refusals], ["saved", [], 1]);
});

test("a refused button, and refused words that were typed over, leave nothing behind", async () => {
  const {queue, type, press, answer} = harness();
  press("move");
  await answer("refused");
  assert.deepEqual([queue.state, queue.edits], ["saved", []]);
  type("/a", "wrong");
  type("/a", "right");
  await answer("refused");
  assert.deepEqual(queue.edits.map(({body}) => body), ["right"]);
});

test("what is not ready to be sent only takes the place of what was refused there", async () => {
  const {queue, around, type, answer, sent} = harness();
  type("/a", "refused");
  await answer("refused");
  queue.add(queue.edit({anchor: "/a", body: "{", op: "set", url: "/edit"}), {ready: false});
  assert.deepEqual([queue.edits, sent(), around.refusals], [[], ["refused"], 1]);
  around.unfinished = true;
  queue.settle();
  assert.equal(queue.state, "unfinished");
});

test("refused edits go with the words that somebody drops", async () => {
  const {queue, type, answer} = harness();
  type("/a", "one", {words: "k1"});
  await answer("refused");
  queue.dropRefused(["k2"]);
  assert.equal(queue.edits.length, 1);
  queue.dropRefused(["k1"]);
  assert.deepEqual([queue.edits, queue.state], [[], "saved"]);
});

for (const ended of ["signed-out", "lost"]) {
  test(`${ended}: nothing is sent before somebody asks for it, and everything is kept`, async () => {
    const {queue, around, type, answer, sent} = harness();
    type("/a", "words");
    await answer(ended);
    type("/b", "more");
    assert.deepEqual([sent(), around.pauses, stored().length], [["words"], [], 2]);
    queue.retry();
    await answer("saved");
    await answer("saved");
    assert.deepEqual([sent(), queue.state], [["words", "words", "more"], "saved"]);
  });
}

test("a page takes up what an earlier one has left of this draft, in order, and sends it first", async () => {
  const left = harness();
  left.type("/a", "first");
  left.type("/b", "second");
  await left.answer("offline");
  const other = harness({draft: "d2"});
  other.type("/a", "of another draft");
  const {queue, type, answer, sent} = harness();
  queue.adopt();
  assert.deepEqual(queue.edits.map(({body, adopted}) => [body, adopted]), [["first", true], ["second", true]]);
  type("/a", "typed since"); // what was left may have arrived: it is sent as it was
  for (let left = 3; left; left -= 1) await answer("saved");
  assert.deepEqual(sent(), ["first", "second", "typed since"]);
  assert.deepEqual(stored().map(({draft}) => draft), ["d2"]);
});

test("an accepted edit moves what this page has made on the version before it, but not what crosses it", () => {
  const {queue, type} = harness();
  type("/tasks/t1", "made");
  type("/tasks/t2", "follows");
  type("/tasks/t1/title", "within");
  type("/tasks/t3", "on an earlier version", {seen: 5});
  queue.advance(8, queue.current);
  assert.deepEqual(queue.edits.map(({seen}) => seen), [8, 8, 7, 5]);
  assert.deepEqual(stored().map(({seen}) => seen), [7, 8, 7, 5]); // what is on its way is kept as it went
});

test("places cross where one is the other or a part of it, and another field of it", () => {
  const of = (anchor, op = "set") => ({anchor, op});
  assert.equal(crosses(of("/a"), of("/a/b")), true);
  assert.equal(crosses(of("/a/b"), of("/a")), true);
  assert.equal(crosses(of("/a"), of("/a", "rename")), true);
  assert.equal(crosses(of("/a"), of("/a")), false);
  assert.equal(crosses(of("/a"), of("/ab")), false);
  assert.equal(crosses(of(null), of("/a")), false);
  assert.equal(crosses(undefined, of("/a")), false);
});

test("a browser that keeps nothing still sends", async () => {
  const {queue, around, type, answer} = harness();
  around.storage = () => {
    throw new DOMException("closed", "SecurityError");
  };
  queue.adopt();
  type("/a", "words");
  await answer("saved");
  assert.deepEqual([queue.state, queue.edits], ["saved", []]);
});

test("typing shows that something will be saved, unless there is news that is worse", async () => {
  const {queue, type, answer} = harness();
  queue.expect();
  assert.equal(queue.state, "saving");
  type("/a", "words");
  await answer("offline");
  queue.expect();
  assert.equal(queue.state, "offline");
});

test("what is left of a draft stays in the browser, and its answer changes nothing in the next one", async () => {
  const {queue, around, type, answer} = harness();
  type("/a", "words");
  around.draft = () => "d2";
  queue.begin();
  await answer("lost");
  assert.deepEqual([queue.state, queue.edits], ["saved", []]);
  around.draft = () => "d1";
  queue.begin();
  assert.deepEqual(queue.edits.map(({body}) => body), ["words"]);
});
