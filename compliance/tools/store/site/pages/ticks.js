// Boxes in a table of results: two to four ticked results open side by side on another page
(() => {
  const MOST = 4;
  const table = document.querySelector("table[data-compare]");
  const view = table && tables.get(table.id);
  if (!view || view.rows.length < 2) return;
  const parameter = `${table.id}.compare`;
  const keyOf = (row) => row.cells[0].querySelector("a").getAttribute("href").split("/").at(-1).replace(/\.html.*$/, "");
  const boxes = new Map(view.rows.map((row) => {
    const box = make("input", { type: "checkbox", className: "tick", title: "Select for a comparison" });
    box.setAttribute("aria-label", `Compare ${row.cells[0].textContent.trim()}`);
    row.cells[0].querySelector(".line").prepend(box, " ");
    return [keyOf(row), box];
  }));
  const open = make("a", { className: "compare" });
  const clear = make("button", { type: "button", textContent: "Clear" });
  const said = make("span", { className: "compare", role: "status" }, open, " ", clear);
  view.tools.append(said);

  const show = () => {
    const names = [...boxes.keys()].filter((name) => boxes.get(name).checked);
    for (const box of boxes.values()) box.disabled = !box.checked && names.length >= MOST;
    open.textContent = names.length > 1 ? `Compare ${names.length} results` : "Tick one more result to compare";
    if (names.length > 1) open.href = `${table.dataset.compare}#${new URLSearchParams({ r: names.join(",") })}`;
    else open.removeAttribute("href");
    delete open.dataset.own;
    said.hidden = !names.length;
    fitted(view);
    return names;
  };
  const follow = () => {
    const names = (link.read().get(parameter) ?? "").split(",");
    for (const [name, box] of boxes) box.checked = names.includes(name);
    show();
  };
  const changed = () => link.keep({ [parameter]: show().join(",") });
  for (const box of boxes.values()) box.addEventListener("change", changed);
  clear.addEventListener("click", () => { link.keep({ [parameter]: "" }); follow(); });
  addEventListener("hashchange", follow);
  follow();
})();
