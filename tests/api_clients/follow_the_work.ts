/**
 * Imports, reviews and releases one dialogue with the types that openapi-typescript generates.
 *
 * `scripts/check_clients.py` runs it after the Python client, in the same project:
 *
 *     deno run --check follow_the_work.ts URL SLUG ADMINISTRATOR_TOKEN REVIEWER_TOKEN
 */

import createClient from "openapi-fetch";
import type { components, paths } from "schema";

/** Seconds that a job may take on a slow machine. */
const PATIENCE = 90;

type Job = { job: components["schemas"]["JobState"] };

const RECORD = {
  id: "two",
  tools: [{ type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } }],
  document: {
    kind: "multi_turn",
    language: "en",
    tasks: [
      {
        id: "t1", user_message: "Hello!", policy: "chat", information: "explicit",
        steps: [{ id: "s1", type: "answer", text: "Helo!", answer_type: "chat", depends_on: [] }],
      },
    ],
  },
};

const [url, slug, administrator, reviewer] = Deno.args;
const boss = clientOf(administrator);
const person = clientOf(reviewer);
const project = { path: { slug } };

const form = new FormData();
form.set("file", new File([JSON.stringify(RECORD)], "two.jsonl"));
form.set("format", "neutral");
const begun = good(
  await boss.POST("/api/projects/{slug}/imports/", {
    params: project,
    // A file is a text in the types, but not in a form.
    body: { file: "", format: "neutral" },
    bodySerializer: () => form,
  }),
);
const done = await ended(async () =>
  good(
    await boss.GET("/api/projects/{slug}/imports/{public_id}/", {
      params: { path: { slug, public_id: begun.public_id } },
    }),
  )
);
require(done.created === 1 && done.rejected === 0, done);

const claim = good(await person.POST("/api/projects/{slug}/claims/", { params: project, body: {} }));
const document = claim.document;
require(document.kind === "multi_turn", document);
if (document.kind !== "multi_turn") throw new Error("of another kind");
const step = document.tasks[0].steps?.[0];
if (step?.type !== "answer") throw new Error("The first step is no answer.");
step.text = "Hello, too!";
const submit = (reason: string) =>
  person.POST("/api/work/{slot}/submit/", {
    params: { path: { slot: claim.slot } },
    body: { token: claim.token, verdict: "fix", document, reason },
  });
good(await submit("A letter was missing."));
const refused = await submit("Another reason.");
require(refused.response.status === 409, refused.error);

const wanted = { version: "2.0", format: "neutral" } as const;
const started = good(await boss.POST("/api/projects/{slug}/releases/", { params: project, body: wanted }));
const release = { params: { path: { slug, public_id: started.public_id } } };
const frozen = await ended(async () => good(await boss.GET("/api/projects/{slug}/releases/{public_id}/", release)));
require(frozen.item_count === 2, frozen);
const archive = await person.GET("/api/projects/{slug}/releases/{public_id}/archive/", {
  ...release,
  parseAs: "arrayBuffer",
});
const bytes = new Uint8Array(good(archive));
require(bytes[0] === 0x50 && bytes[1] === 0x4b, `not a zip archive: ${bytes.slice(0, 4)}`);
console.log("imported, claimed, submitted, released and downloaded 1 dialogue with types");

function clientOf(token: string) {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
}

/** Return what an answer has. Throws for a refusal. */
function good<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.response.status}: ${JSON.stringify(answer.error).slice(0, 1000)}`);
  }
  return answer.data;
}

/** Poll until the job of a row has ended, and return the row. Throws if it failed or takes long. */
async function ended<T extends Job>(read: () => Promise<T>): Promise<T> {
  const end = Date.now() + PATIENCE * 1000;
  let row = await read();
  while (row.job.state === "queued" || row.job.state === "running") {
    require(Date.now() < end, row);
    await new Promise((resume) => setTimeout(resume, 300));
    row = await read();
  }
  require(row.job.state === "done", row);
  return row;
}

function require(right: boolean, what: unknown): void {
  if (!right) throw new Error(JSON.stringify(what));
}
