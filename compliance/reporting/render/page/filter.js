"use strict";
(() => {
  const form = document.getElementById("filter");
  const groups = [...document.querySelectorAll("details.group")];
  const parts = [...document.querySelectorAll("section.part")];
  const texts = new Map();

  const text = (group) => {
    if (!texts.has(group)) texts.set(group, group.textContent.toLowerCase());
    return texts.get(group);
  };

  const show = () => {
    const wanted = new FormData(form);
    const severities = new Set(wanted.getAll("severity"));
    const rule = wanted.get("rule");
    const submission = wanted.get("submission");
    const words = wanted.get("text").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const group of groups) {
      const is = group.dataset;
      const kept = severities.has(is.severity)
        && (!rule || is.rule === rule)
        && (!submission || is.submission === submission)
        && words.every((word) => text(group).includes(word));
      group.hidden = !kept;
      shown += kept;
    }
    for (const part of parts) {
      part.hidden = ![...part.querySelectorAll("details.group")].some((group) => !group.hidden);
    }
    form.querySelector("output").value = `${shown} of ${groups.length} groups`;
  };

  const open = (state) => () => {
    for (const group of groups) if (!group.hidden) group.open = state;
  };

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.open.addEventListener("click", open(true));
  form.elements.close.addEventListener("click", open(false));
  const before = new Map();
  addEventListener("beforeprint", () => {
    for (const group of groups) { before.set(group, group.open); group.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const [group, state] of before) group.open = state;
  });
  form.hidden = false;
  show();
})();
