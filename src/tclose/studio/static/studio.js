// Progress of long work, sliders, dragged values, dropped files, and forms that save themselves. Everything else is plain HTML.
"use strict";

function changed(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
  const options = Array.from(field.options);
  return field.selectedIndex !== Math.max(options.findIndex((option) => option.defaultSelected), 0);
}

// Whether a field holds what somebody has entered and not saved; sliders follow their fields.
function unsaved() {
  return Array.from(document.querySelectorAll("main :is(input:not([type=hidden], [type=range]), select)")).some(changed);
}

function ended(section) {
  const [told, link] = [document.createElement("p"), document.createElement("a")];
  told.textContent = `${section.dataset.ended} `;
  link.textContent = section.dataset.see;
  link.href = window.location.href;
  link.addEventListener("click", (event) => { event.preventDefault(); event.stopPropagation(); window.location.reload(); }, true);
  told.append(link);
  section.replaceChildren(told);
}

// The secret by which a page knows its own studio again: another program may have taken the port of one that ended.
const KEPT = "tclose-alive";

function remember() {
  const secret = document.querySelector("meta[name=alive]")?.content;
  if (secret) sessionStorage.setItem(KEPT, secret);
}

// Whether the studio of this page answers. The question carries no cookie, and the answer proves the secret.
async function alive() {
  const bytes = (text) => new TextEncoder().encode(text);
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    const answer = await fetch(`/alive?nonce=${nonce}`, { credentials: "omit", cache: "no-store", redirect: "error" });
    const proof = (await answer.text()).match(/^[0-9a-f]{64}$/)?.[0].match(/../g).map((pair) => parseInt(pair, 16));
    if (!proof) return false;
    const kind = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytes(sessionStorage.getItem(KEPT)), kind, false, ["verify"]);
    return await crypto.subtle.verify("HMAC", key, new Uint8Array(proof), bytes(`${location.port}:${nonce}`));
  } catch {
    return false;
  }
}

const PAUSE = 3000; // milliseconds between two questions of a page that no stream tells anything

function later(section, ask) {
  setTimeout(() => { if (section.isConnected) ask(); }, PAUSE);
}

// Show how far the work of a section is; say whether it goes on.
function shown(section, job) {
  if (job.state !== "running") {
    if (unsaved()) ended(section);
    else window.location.reload();
    return false;
  }
  section.querySelector("progress").value = job.share;
  section.querySelector("[data-percent]").textContent = `${Math.round(100 * job.share)} %`;
  if (job.phase) section.querySelector("[data-phase]").textContent = job.phase;
  return true;
}

// The stream was lost: go on only with the page's own studio.
async function reconnect(section) {
  if (await alive()) {
    follow(section);
    return;
  }
  section.querySelector("[data-phase]").textContent = section.dataset.gone;
  later(section, () => reconnect(section));
}

// Newer pages have taken the streams: ask from time to time.
async function poll(section) {
  if (!(await alive())) {
    reconnect(section);
    return;
  }
  try {
    const answer = await fetch(section.dataset.job);
    if (answer.ok && shown(section, await answer.json())) later(section, () => poll(section));
  } catch {
    later(section, () => reconnect(section));
  }
}

function follow(section) {
  const events = new EventSource(section.dataset.events);
  const close = () => events.close();
  window.addEventListener("pagehide", close);
  events.addEventListener("over", () => { close(); later(section, () => poll(section)); });
  events.onmessage = (event) => {
    if (!section.isConnected || !shown(section, JSON.parse(event.data))) close();
  };
  events.onerror = () => {
    const refused = events.readyState === EventSource.CLOSED; // as when the project was deleted
    close();
    if (!refused && section.isConnected) later(section, () => reconnect(section));
  };
}

function slide(slider) {
  const field = document.getElementById(slider.dataset.slider);
  slider.addEventListener("input", () => { field.value = slider.value; });
  slider.addEventListener("change", () => field.form.requestSubmit());
  field.addEventListener("input", () => {
    const level = Number(field.value.replace(",", "."));
    if (field.value.trim() && Number.isFinite(level)) slider.value = level;
  });
}

// Files dropped together on the page that verifies: each goes to its field by the end of its name.
function sorted(form, files) {
  const fields = Array.from(files, (file) => {
    const name = file.name.toLowerCase();
    const field = name.endsWith(".pub") ? "signer" : name.endsWith(".json") ? "certificate" : "release";
    return [name.endsWith(".dsse.json"), field, file];
  });
  fields.sort((one, other) => one[0] - other[0]); // a signed certificate comes last, in place of a plain one
  for (const [, field, file] of fields) {
    const one = new DataTransfer();
    one.items.add(file);
    form.elements[field].files = one.files;
  }
}

// Listeners of the whole document, so that they hold from the first moment of every page.
function dropping() {
  const form = () => document.querySelector("[data-drop], [data-sort]");
  document.addEventListener("dragover", (event) => { event.preventDefault(); form()?.classList.add("over"); });
  document.addEventListener("dragleave", () => form()?.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    form()?.classList.remove("over");
    if (!form() || !event.dataTransfer.files.length) return;
    if ("sort" in form().dataset) sorted(form(), event.dataTransfer.files);
    else form().querySelector("input[type=file]").files = event.dataTransfer.files;
    if (form().checkValidity()) form().requestSubmit();
  });
}

function drag(item) {
  item.addEventListener("dragstart", (event) => {
    item.querySelector("input").checked = true;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
  });
}

function receive(group) {
  group.addEventListener("dragover", (event) => { event.preventDefault(); group.classList.add("over"); });
  group.addEventListener("dragleave", () => group.classList.remove("over"));
  group.addEventListener("drop", (event) => {
    event.preventDefault();
    const form = document.getElementById("move");
    form.elements.group.value = group.dataset.group;
    form.requestSubmit();
  });
}

function prepare(root) {
  root.querySelectorAll("[data-below]").forEach(drag);
  root.querySelectorAll("[data-group]").forEach(receive);
  root.querySelectorAll("[data-events]").forEach(follow);
  root.querySelectorAll("[data-slider]").forEach(slide);
  root.querySelectorAll("form[data-auto]").forEach((form) => form.addEventListener("change", () => form.requestSubmit()));
}

// A link that is followed while a change is being saved waits for the answer: else the answer would bring the old page
// back over the new one, and the new one might not show the change.
function following() {
  let [saving, wanted] = [0, null];
  const saves = (event) => event.detail.requestConfig.verb === "post";
  document.addEventListener("htmx:beforeRequest", (event) => { if (saves(event)) saving += 1; });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!saves(event)) return;
    saving -= 1;
    if (!saving && wanted) window.location.assign(wanted);
  });
  document.addEventListener("htmx:confirm", (event) => {
    if (!saving || event.target.tagName !== "A") return;
    event.preventDefault();
    wanted = event.target.href;
  });
}

document.documentElement.classList.add("scripted");
following();
remember();
dropping();
htmx.onLoad(prepare);
