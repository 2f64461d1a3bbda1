// The console works without this file. It shows the price while the slider moves, prices while
// somebody types, counts people while roles change, and copies texts. It never spends: only a click on the button does.
"use strict";

const form = document.getElementById("ask");
const result = document.getElementById("result");
const PAUSE = 600; // milliseconds without a key before a question is priced
let timer = 0;
let latest = 0;

function element(id) {
  return document.getElementById(id);
}

function say(id, text) {
  const node = element(id);
  node.textContent = text;
  return node;
}

function showPosition(position) {
  element("slider").setAttribute("aria-valuetext", position.said);
  element("price").querySelector("b").textContent = position.price;
  say("alone", position.alone);
  say("error", position.error);
  say("otherwise", position.otherwise).hidden = !position.otherwise;
  say("others", position.others).hidden = !position.others;
  say("more", position.one_more);
  element("more-line").hidden = !position.one_more;
  const next = say("next", `Next useful price: ${position.next_words}`);
  next.value = position.next_wish;
  next.hidden = !position.next_wish;
  say("left", position.left);
  const spend = say("spend", position.button);
  spend.value = position.spend;
  const stale = element("priced").classList.contains("stale");
  spend.disabled = stale || position.short || spend.dataset.barred === "yes";
  say("short-words", position.short);
  element("short").hidden = !position.short || spend.dataset.spends === "no";
  const mark = element("curve-mark");
  mark.setAttribute("cx", `${position.x}%`);
  mark.setAttribute("cy", position.y);
}

function positions() {
  return JSON.parse(element("priced").dataset.positions);
}

async function price(submitter) {
  window.clearTimeout(timer);
  const mine = ++latest;
  const question = element("question").value;
  const fields = new FormData(form);
  if (submitter) fields.set(submitter.name, submitter.value);
  setStale();
  try {
    const reply = await fetch(form.action, { method: "POST", body: new URLSearchParams(fields) });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = page.getElementById("result");
    if (mine !== latest) return;
    if (fresh) {
      result.replaceChildren(...fresh.childNodes);
      if (element("question").value === question) element("question").value = page.getElementById("question").value;
      prepare();
      announce();
    } else if (reply.redirected) window.location.assign(reply.url); // the session has ended
    else fail(page.querySelector("main").innerText);
  } catch {
    if (mine === latest) fail("The service does not answer. Press Price to try again.");
  } finally {
    if (mine === latest) result.setAttribute("aria-busy", "false");
  }
}

function fail(words) {
  say("status", words).className = "notice bad";
}

function announce() {
  element("status").className = "unseen";
  const slider = element("slider");
  const button = element("spend");
  if (button) say("status", `Priced: ${slider ? slider.getAttribute("aria-valuetext") : element("error").textContent}`);
}

function setStale() {
  result.setAttribute("aria-busy", "true");
  const priced = element("priced");
  if (priced) {
    priced.classList.add("stale");
    element("spend").disabled = true;
  }
}

function prepare() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  const slider = element("slider");
  if (slider) slider.addEventListener("input", () => showPosition(positions()[Number(slider.value)]));
}

if (form) {
  element("question").addEventListener("input", () => {
    latest += 1; // a reply to the old text is not shown
    setStale();
    window.clearTimeout(timer);
    if (element("question").value.trim()) timer = window.setTimeout(price, PAUSE);
    else result.setAttribute("aria-busy", "false"); // nothing is being priced
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      price();
    }
  });
  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && button.hasAttribute("formaction") && button.formAction.includes("/ask")) return;
    event.preventDefault();
    price(button);
  });
  const question = element("question");
  // Somebody may have typed before this file had come.
  if (question.value !== question.defaultValue) question.dispatchEvent(new Event("input"));
}

const roles = element("roles");

async function countAgain() {
  const mine = ++latest;
  element("count").setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(roles.action, { method: "POST", body: new URLSearchParams(new FormData(roles)) });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (mine !== latest) return;
    const fresh = page.getElementById("count");
    if (!fresh) window.location.assign(reply.url); // the session has ended
    else element("count").replaceChildren(...fresh.childNodes);
  } catch {
    if (mine === latest) element("count").textContent = "The service does not answer. Press Count again.";
  } finally {
    if (mine === latest) element("count").setAttribute("aria-busy", "false");
  }
}

if (roles) roles.addEventListener("change", (event) => {
  if (event.target.type !== "checkbox") countAgain();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = element(button.dataset.copy);
  window.getSelection().selectAllChildren(source);
  if (navigator.clipboard) await navigator.clipboard.writeText(source.textContent);
  button.textContent = navigator.clipboard ? "Copied" : "Selected";
});

prepare();
