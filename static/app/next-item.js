// Submitting or skipping an item brings the next one into the page that is open: it is there in half the time that a
// browser takes to load a page.
//
//   <form method="post" data-next-item>     ends the work on the item that the page shows
//   <div id="workspace" data-assets="…">    the version of the scripts: with newer ones, the page is loaded
//
// The form is sent with the header X-Next-Item. X-Guideline and X-Unread say which guideline and how many unread
// notices the page shows: the guideline and the bar at the top do not come again if they are the same. The answer is
// the parts of the next item (<hx-partial>), with the header X-Item (JSON: the address, and the attributes of
// #workspace), or X-Leads-To: a page to load. If it is neither, such as a refusal, the browser sends the form again and
// shows the answer, as it does without this module.
//
// Two events on `document` tell the other modules, which keep what the person does on the page of one item:
//   assay:item-comes   the parts are about to be replaced
//   assay:item         the next item is there

const workspace = () => document.getElementById("workspace");
const emit = (name, detail) => document.dispatchEvent(new CustomEvent(`assay:${name}`, {detail}));

let isSending = false;
let address = ""; // of the item that came last

addEventListener("submit", (event) => {
  const {target: form, submitter} = event;
  if (event.defaultPrevented || !form.matches("form[data-next-item]") || !workspace() || !globalThis.htmx) return;
  if (submitter?.hasAttribute("formaction")) return;
  event.preventDefault();
  if (!isSending) void send(form, submitter);
});

async function send(form, submitter) {
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  body.delete("csrfmiddlewaretoken"); // app.js sends it as a header
  const next = {body, item: null, leadsTo: ""};
  isSending = true;
  const answer = globalThis.htmx.ajax("POST", form.action, {source: document.body, target: document.body, swap: "none", next});
  // Like on a page that was loaded, no field has the focus. Removing one that has it would compute styles twice.
  document.getElementById("main").focus({preventScroll: true});
  try {
    await answer;
  } catch {
    // No answer: the browser says so.
  }
  isSending = false;
  if (next.item) arrive();
  else if (next.leadsTo) location.assign(next.leadsTo);
  else sendByBrowser(form, submitter);
}

function sendByBrowser(form, submitter) {
  if (submitter?.name) {
    const field = document.createElement("input");
    [field.type, field.name, field.value] = ["hidden", submitter.name, submitter.value];
    form.append(field);
  }
  HTMLFormElement.prototype.submit.call(form);
}

document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  if (!ctx.next) return;
  const {headers} = ctx.request;
  ctx.request.body = ctx.next.body;
  headers["X-Next-Item"] = workspace().dataset.assets;
  headers["X-Unread"] = document.querySelector(".topbar")?.dataset.unread ?? "";
  headers["X-Guideline"] = document.querySelector("#reference-body [data-guideline]")?.dataset.guideline ?? "";
  // Any other answer than the next item is a whole page.
  delete headers["HX-Request"];
});

document.addEventListener("htmx:after:request", (event) => {
  const {next, response} = event.detail.ctx;
  if (!next) return;
  const item = response.status === 200 && response.headers.get("X-Item");
  next.leadsTo = response.headers.get("X-Leads-To") ?? "";
  if (!item) return event.preventDefault();
  next.item = JSON.parse(item);
  emit("item-comes");
  address = next.item.url;
  history.pushState(null, "", address);
  Object.assign(workspace().dataset, next.item.data);
  const field = document.querySelector(".topbar [name=next]");
  if (field) field.value = address;
});

/** Begin like a page that was loaded; screen readers say what has come. */
function arrive() {
  emit("item");
  emit("announce", {text: document.title});
}

// What is pressed until the answer arrives is meant for what comes.
for (const type of ["click", "beforeinput"]) {
  addEventListener(
    type,
    (event) => {
      if (!isSending) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    true,
  );
}

addEventListener("popstate", () => {
  if (address && !location.pathname.startsWith(address)) location.reload();
});
