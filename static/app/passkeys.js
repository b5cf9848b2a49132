// Forms that make or use a passkey: <form data-passkey="create|get" data-options="…"> with <input name="credential">.
//
// `data-options`: a selector of a <script type="application/json"> with the server's options, or the address that answers
// them. When the form is sent, the browser asks the person, and the answer is sent in `credential`.

import {gettext} from "./translation.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.passkey) return;
  event.preventDefault();
  try {
    const options = await optionsOf(form);
    const credential = form.dataset.passkey === "create" ? await create(form, options) : await get(options);
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  } catch (error) {
    const text = sentenceOf(error);
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "bad", text}}));
  }
});

async function optionsOf(form) {
  const source = form.dataset.options;
  if (source.startsWith("#")) return JSON.parse(document.querySelector(source).textContent);
  const response = await fetch(source, {headers: {Accept: "application/json"}});
  if (!response.ok) throw new Error("no options");
  return (await response.json()).request_options;
}

function create(form, {publicKey}) {
  const alone = form.elements.passwordless?.checked ?? false;
  const selection = {
    ...publicKey.authenticatorSelection,
    residentKey: alone ? "required" : "discouraged",
    requireResidentKey: alone,
    userVerification: alone ? "required" : (publicKey.authenticatorSelection?.userVerification ?? "preferred"),
  };
  const options = PublicKeyCredential.parseCreationOptionsFromJSON({...publicKey, authenticatorSelection: selection});
  return navigator.credentials.create({publicKey: options});
}

function get({publicKey}) {
  return navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey)});
}

function sentenceOf(error) {
  if (!globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON) {
    return gettext("This browser can’t use passkeys here. Use a newer browser, or another way.");
  }
  if (error.name === "InvalidStateError") return gettext("This device already has a passkey for your account.");
  if (error.name === "NotAllowedError") return gettext("The passkey wasn’t used. Try again.");
  return gettext("The passkey didn’t work. Reload the page and try again.");
}
