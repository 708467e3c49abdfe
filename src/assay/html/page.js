"use strict";
// Sorts and filters tables marked sortable; the page is complete without it.

const order = (row, column) => {
  const cell = row.cells[column], number = cell.querySelector("data");
  if (number) return number.value === "" ? null : Number(number.value);
  return cell.textContent.trim().toLowerCase();
};

// Rows without a value sort last in both directions.
const compare = (a, b, sign) => {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
};

function sort(table, head) {
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const keyed = [...table.tBodies[0].rows].map(row => [order(row, head.cellIndex), row]);
  keyed.sort((a, b) => compare(a[0], b[0], sign));
  table.tBodies[0].append(...keyed.map(pair => pair[1]));
}

function filter(form, rows) {
  const words = form.querySelector("[type=search]").value.toLowerCase().split(/\s+/).filter(Boolean);
  const conditions = [...form.querySelectorAll("[name]")]
    .map(control => [control.name, control.type === "checkbox" && !control.checked ? "" : control.value])
    .filter(([, value]) => value !== "");
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(words.every(word => text.includes(word)) && conditions.every(([name, value]) => row.dataset[name] === value));
    shown += !row.hidden;
  }
  form.querySelector("output").value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
}

for (const area of document.querySelectorAll(".sortable")) {
  const table = area.querySelector("table"), form = area.querySelector(".filter"), rows = [...table.tBodies[0].rows];
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head));
  }
  form.hidden = false;
  form.addEventListener("input", () => filter(form, rows));
  form.addEventListener("submit", event => event.preventDefault());
  const open = form.querySelector(".open");
  open.hidden = !table.querySelector("details");
  open.addEventListener("click", () => {
    const opening = open.textContent === "Open all";
    for (const row of rows) if (!row.hidden) row.querySelector("details").open = opening;
    open.textContent = opening ? "Close all" : "Open all";
  });
}

// A link to a query shows and opens its row.
function reveal() {
  const row = document.getElementById(location.hash.slice(1));
  if (!row?.matches("tr")) return;
  row.hidden = false;
  row.querySelector("details").open = true;
  row.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
reveal();
