// Scatter plots of a table's rows: pointed at, clicked, brushed, with a choice of what is upward
(() => {
  const tip = make("div", { className: "tip", hidden: true });
  tip.setAttribute("aria-hidden", "true");
  if (document.querySelector("figure[data-table]")) document.body.append(tip);
  const tell = (event, lines) => {
    tip.replaceChildren(...lines.map((text) => make("div", { textContent: text })));
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4))}px`;
  };

  const linked = (plot, view) => {
    const dots = [...plot.querySelectorAll("circle[data-r]")];
    const rowOf = (dot) => view.rows[dot.dataset.r];
    const dotOf = (event) => event.target.closest?.("circle[data-r]");
    const cells = (row) => view.names.flatMap((name, at) => (
      view.away.has(at) || !name || !row.cells[at] ? [] : [`${name}: ${row.cells[at].textContent.trim()}`]));
    plot.addEventListener("pointermove", (event) => {
      const dot = dotOf(event);
      tip.hidden = !dot;
      if (dot) tell(event, cells(rowOf(dot)).slice(0, 8));
    });
    plot.addEventListener("pointerleave", () => { tip.hidden = true; });
    plot.addEventListener("click", (event) => {
      const dot = dotOf(event);
      if (dot) rowOf(dot).querySelector("a[href]")?.click();
    });
    view.table.addEventListener("rows", ({ detail }) => {
      for (const dot of dots) dot.classList.toggle("off", !detail.has(rowOf(dot)));
    });
    view.table.addEventListener("pointerover", (event) => {
      const row = event.target.closest("tbody tr");
      for (const dot of dots) dot.classList.toggle("lit", rowOf(dot) === row);
    });
    return { dots, rowOf };
  };

  const brushed = (plot, view, { dots, rowOf }, clear) => {
    const area = document.createElementNS(plot.namespaceURI, "rect");
    area.setAttribute("class", "brush");
    let from = null;
    const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse());
    const drawn = (to) => {
      const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
      const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
      for (const [name, value] of Object.entries({ x, y, width, height })) area.setAttribute(name, value);
      return { x, y, width, height };
    };
    plot.addEventListener("pointerdown", (event) => {
      if (event.button || event.target.closest("circle[data-r]")) return;
      event.preventDefault();
      from = at(event);
    });
    addEventListener("pointermove", (event) => {
      if (!from) return;
      if (!area.parentNode) plot.append(area);
      drawn(at(event));
    });
    addEventListener("pointerup", (event) => {
      if (!from) return;
      const box = drawn(at(event));
      from = null;
      if (box.width + box.height < 8) { area.remove(); return; }
      const inside = dots.filter((dot) => {
        const [x, y] = [dot.getAttribute("cx") - box.x, dot.getAttribute("cy") - box.y];
        return x >= 0 && y >= 0 && x <= box.width && y <= box.height && !dot.classList.contains("off");
      });
      view.only = new Set(inside.map(rowOf));
      view.filter();
      clear.hidden = false;
    });
    return () => area.remove();
  };

  for (const figure of document.querySelectorAll("figure[data-table]")) {
    const view = tables.get(figure.dataset.table);
    if (!view) continue;
    const plots = [...figure.querySelectorAll("svg.scatter")];
    const tools = make("div", { className: "tools" });
    const clear = make("button", { type: "button", hidden: true, textContent: "Clear the selection" });
    const ends = plots.map((plot) => brushed(plot, view, linked(plot, view), clear));
    clear.addEventListener("click", () => {
      view.only = null;
      clear.hidden = true;
      for (const end of ends) end();
      view.filter();
    });
    const parameter = `${figure.dataset.table}.y`;
    const [label, select] = chooser("Upward", plots.slice(1).map((plot) => plot.dataset.y), () => link.keep({ [parameter]: select.value }));
    select.options[0].text = plots[0]?.dataset.y ?? "";
    const show = () => {
      choose(select, link.read().get(parameter) ?? "");
      for (const plot of plots) plot.toggleAttribute("hidden", plot.dataset.y !== (select.value || plots[0].dataset.y));
    };
    select.addEventListener("change", show);
    if (plots.length > 1) tools.append(label);
    tools.append(make("span", { textContent: "Draw a box to select rows of the table; click a dot to open its result." }), clear);
    figure.querySelector("figcaption").after(tools);
    show();
    view.filter();
  }

  // Figures of a part of the results, such as of one round, follow the shared parameters
  const parts = [...document.querySelectorAll("[data-part]")].map((part) => [part, new URLSearchParams(part.dataset.part)]);
  const follow = () => {
    const state = link.read();
    for (const [part, own] of parts) {
      part.hidden = [...own].some(([name, value]) => state.get(name) && state.get(name) !== value);
    }
  };
  addEventListener("hashchange", follow);
  addEventListener("state", follow);
  follow();
})();
