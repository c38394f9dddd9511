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
  const keep = () => {
    const wanted = new FormData(form);
    const all = [...form.querySelectorAll("[name=severity]")].length;
    const severities = wanted.getAll("severity");
    link.keep({
      q: wanted.get("text"), rule: wanted.get("rule"), submission: wanted.get("submission"),
      severity: severities.length < all ? severities.join(",") || "none" : "",
    });
  };
  const follow = () => {
    const state = link.read();
    form.elements.text.value = state.get("q") ?? "";
    for (const name of ["rule", "submission"]) if (form.elements[name]) choose(form.elements[name], state.get(name) ?? "");
    const severities = state.get("severity")?.split(",");
    for (const box of form.querySelectorAll("[name=severity]")) box.checked = !severities || severities.includes(box.value);
    show();
  };
  form.addEventListener("input", keep);
  addEventListener("hashchange", follow);
  form.hidden = false;
  follow();
})();
