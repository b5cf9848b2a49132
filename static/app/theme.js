// The theme form works without this module (it posts, the server sets a cookie and renders the page again). With it the
// page changes at once and nothing is loaded anew.

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const theme = event.submitter?.value;
  if (!form.matches?.("form[data-theme-form]") || !theme) return;
  event.preventDefault();
  const data = new FormData(form, event.submitter);
  document.documentElement.dataset.theme = theme;
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
  const token = document.querySelector('meta[name="csrf-token"]')?.content ?? "";
  try {
    await fetch(form.action, {method: "POST", body: data, headers: {"X-CSRFToken": token}, redirect: "manual"});
  } catch {
    const text = "The theme changed on this page, but the server was not reached to remember it.";
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "warn", text}}));
  }
});
