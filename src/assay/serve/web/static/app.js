"use strict";
// Theme (before the first paint), keyboard navigation, results that open in place. Every page also works without scripts.

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
try { root.dataset.theme = localStorage.getItem("theme") ?? ""; } catch { /* storage is disabled */ }

function switchTheme() {
  const now = root.dataset.theme || (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* storage is disabled: valid for this page only */ }
}

async function fill(details) {
  const body = details.querySelector(".opened[data-source]");
  if (!body || !details.open) return;
  const source = body.dataset.source;
  delete body.dataset.source;
  body.classList.add("loading");
  try {
    const answer = await fetch(source, { headers: { accept: "text/html" } });
    body.innerHTML = await answer.text();
  } catch {
    body.dataset.source = source;
    body.textContent = "The server did not answer. Close and open this again to retry.";
  } finally {
    body.classList.remove("loading");
  }
}

function move(step) {
  const heads = [...document.querySelectorAll(".results > li > details > summary")];
  if (!heads.length) return false;
  const at = heads.indexOf(document.activeElement);
  if (at < 0 && step < 0) return false;
  const next = heads[Math.min(Math.max(at + step, 0), heads.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function reloadLater(seconds) {
  setTimeout(() => {
    const box = document.getElementById("task");
    if (box && box.value !== box.defaultValue) reloadLater(seconds);  // keep typed text
    else location.reload();
  }, seconds * 1000);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.getElementById("task");
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.target === box && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (box.value.trim()) box.form.requestSubmit(box.form.querySelector(".go"));
  } else if (event.target === box && event.key === "ArrowDown" && !box.value.slice(box.selectionEnd).includes("\n")) {
    if (move(1)) event.preventDefault();
  } else if (typing) {
    if (event.key === "Escape") event.target.blur();
  } else if (event.key === "/" && box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (move(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (event.key === "Escape") {
    const open = event.target.closest?.("details[open]");
    if (open) { open.open = false; open.querySelector("summary").focus(); }
  }
}

addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme")?.addEventListener("click", switchTheme);
  document.addEventListener("keydown", onKey);
  const { again } = document.getElementById("content").dataset;
  if (again) reloadLater(Number(again));
  for (const details of document.querySelectorAll(".results details")) details.addEventListener("toggle", () => fill(details));
});
