"use strict";
// The state of a page stands behind the # of its address, so that a link to it shows the same.
// Shared parameters are carried from page to page. An address without = leads to a part of the page
const CARRIED = ["suite", "round", "division", "category", "chip", "model", "q"];

const link = {
  read: () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""),
  keep: (values) => {
    const found = link.read();
    for (const [name, value] of Object.entries(values)) {
      if (value) found.set(name, value);
      else found.delete(name);
    }
    const text = found.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    dispatchEvent(new Event("state"));
  },
  name: (table, column) => (CARRIED.includes(column) ? column : `${table.id || "table"}.${column}`),
};

// Links to other pages take the shared parameters along; what a link says itself stands
const carry = (event) => {
  const anchor = event.target.closest?.("a[href]");
  const href = anchor?.getAttribute("href") ?? "";
  if (!/^[^:?#]+\.html(#|$)/.test(href)) return;
  const own = anchor.dataset.own ?? href;
  anchor.dataset.own = own;
  const [file, fragment = ""] = own.split("#");
  if (fragment && !fragment.includes("=")) return;
  const wanted = new URLSearchParams(fragment);
  for (const [name, value] of link.read()) {
    if (CARRIED.includes(name) && !wanted.has(name)) wanted.set(name, value);
  }
  anchor.setAttribute("href", [file, wanted.toString()].filter(Boolean).join("#"));
};
for (const kind of ["click", "auxclick", "mouseover", "focusin"]) addEventListener(kind, carry, true);

const make = (tag, values = {}, ...content) => {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...content);
  return made;
};

const chooser = (title, values, change) => {
  const select = make("select");
  for (const value of ["", ...values]) select.append(new Option(value || "all", value));
  select.addEventListener("change", change);
  return [make("label", {}, `${title} `, select), select];
};

const choose = (select, value) => {
  // A link may name a value that this page does not have: no row is shown, and the choice says why
  if (value && ![...select.options].some((option) => option.value === value)) {
    select.append(new Option(value, value));
  }
  select.value = value;
};

const inOrder = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
