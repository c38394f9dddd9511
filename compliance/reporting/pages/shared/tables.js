// Tables: sorted, filtered, with a choice of columns, copied as CSV, fitted to the window
const tables = new Map();

// The tools of a table and its heads stay in view; tools that need much of the window scroll away
const fitted = (view) => {
  const height = view.tools.offsetHeight;
  const stays = height > 0 && height <= innerHeight * MOST_TOOLS;
  view.tools.classList.toggle("stays", stays);
  view.box.style.setProperty("--bar", `${stays ? height : 0}px`);
};
const MOST_TOOLS = 0.15;

(() => {
  const MOST = 100;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
    return value === "–" ? "" : value;
  };

  const compare = (first, second) => {
    const numbers = [Number(first), Number(second)];
    return numbers.some(Number.isNaN) ? inOrder(first, second) : numbers[0] - numbers[1];
  };

  const sort = (table, column, up) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    const known = rows.filter(([value]) => value !== "");
    known.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
    // Rows without a value stand last in either order
    body.append(...known.map(([, row]) => row), ...rows.filter(([value]) => value === "").map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };

  const sortable = (view) => {
    const { table, heads, names } = view;
    heads.forEach((head, column) => {
      const button = make("button", { type: "button", textContent: names[column] });
      button.addEventListener("click", () => {
        // Numbers of interest are large or small; a second click turns the order
        const up = head.getAttribute("aria-sort") !== "ascending";
        sort(table, column, up);
        view.filter();
        if (table.id) link.keep({ [link.name(table, "sort")]: (up ? "" : "-") + names[column] });
      });
      head.replaceChildren(button);
    });
    return (wanted) => {
      const column = names.indexOf(wanted.replace(/^-/, ""));
      if (column >= 0) sort(table, column, !wanted.startsWith("-"));
    };
  };

  // --- rows ---------------------------------------------------------------------------------------

  const choicesOf = (view, changed) => view.heads.flatMap((head, column) => {
    if (!("choose" in head.dataset)) return [];
    const name = view.names[column];
    const values = [...new Set(view.rows.map((row) => valueOf(row, column)))].filter(Boolean).sort(inOrder);
    const carried = CARRIED.includes(name) && link.read().get(name);
    if (values.length < 2 && !carried) return [];
    const [label, select] = chooser(name, values, changed);
    label.className = "choice";
    return [{ name, column, select, label }];
  });

  const filterable = (view) => {
    const { table, rows } = view;
    const input = make("input", { type: "search", autocomplete: "off" });
    const shown = make("output");
    const choices = choicesOf(view, () => changed());
    const texts = new Map();
    const textOf = (row) => texts.get(row) ?? texts.set(row, row.textContent.toLowerCase()).get(row);
    view.matches = () => {
      const words = wordsOf(input.value);
      const chosen = choices.filter(({ select }) => select.value);
      return [...table.tBodies[0].rows].filter((row) => (
        (!view.only || view.only.has(row))
        && chosen.every(({ select, column }) => valueOf(row, column) === select.value)
        && words.every((word) => textOf(row).includes(word))));
    };
    const changed = () => {
      view.whole = false;
      view.filter();
      const named = choices.map(({ name, select }) => [link.name(table, name), select.value]);
      link.keep({ q: input.value, ...Object.fromEntries(named) });
      for (const other of tables.values()) if (other !== view) other.follow();
    };
    view.say = (count) => { shown.value = count < rows.length ? `${count} of ${rows.length} rows` : `${rows.length} rows`; };
    input.addEventListener("input", changed);
    view.tools.append(...choices.map(({ label }) => label), make("label", { className: "filter" }, "Filter ", input), shown);
    return (found) => {
      input.value = found.get("q") ?? "";
      for (const { name, select } of choices) choose(select, found.get(link.name(table, name)) ?? "");
    };
  };

  const limited = (view) => {
    const more = make("button", { type: "button", className: "more", hidden: true });
    more.addEventListener("click", () => { view.whole = true; view.filter(); });
    view.more = more;
    view.filter = () => {
      const matching = view.matches();
      const most = view.whole || matching.length <= MOST * 1.2 ? matching.length : MOST;
      const seen = new Set(matching.slice(0, most));
      for (const row of view.rows) row.hidden = !seen.has(row);
      more.hidden = most === matching.length;
      more.textContent = `Show all ${matching.length} rows`;
      view.say(matching.length);
      view.table.dispatchEvent(new CustomEvent("rows", { detail: new Set(matching) }));
    };
  };

  // --- columns ------------------------------------------------------------------------------------

  const paint = () => {
    const rules = [...tables.values()].flatMap((view) => (
      [...view.away].map((column) => `#${CSS.escape(view.table.id)} > * > tr > :nth-child(${column + 1}) { display: none; }`)));
    sheet.replaceSync(rules.join("\n"));
  };

  const fit = (view) => {
    const { box, table, heads } = view;
    box.classList.remove("pane", "fits");
    view.away = new Set(view.unwanted);
    paint();
    const over = () => table.offsetWidth > box.clientWidth + 1;
    const last = view.chosen || table.classList.contains("matrix") ? 0 : heads.length - 1;
    for (let column = last; column > 0 && over(); column -= 1) {
      if (view.away.has(column) || "keep" in heads[column].dataset) continue;
      view.away.add(column);
      paint();
    }
    box.classList.add(over() ? "pane" : "fits");
    if (box.classList.contains("pane")) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", table.caption?.textContent || "Table");
    } else for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    view.tell?.();
    fitted(view);
  };

  const columns = (view) => {
    const { table, heads, names } = view;
    view.usual = new Set(heads.flatMap((head, column) => ("more" in head.dataset ? [column] : [])));
    view.unwanted = new Set(view.usual);
    const parameter = link.name(table, "columns");
    const summary = make("summary", { textContent: "Columns" });
    const boxes = names.map((name, column) => {
      const input = make("input", { type: "checkbox" });
      input.addEventListener("change", () => {
        view.unwanted = new Set(boxes.flatMap(({ checked }, at) => (checked ? [] : [at])));
        view.chosen = true;
        link.keep({ [parameter]: names.filter((_, at) => !view.unwanted.has(at)).join(",") });
        fit(view);
      });
      input.disabled = column === 0;
      return input;
    });
    const reset = make("button", { type: "button", textContent: "as they fit" });
    reset.addEventListener("click", () => { link.keep({ [parameter]: "" }); view.columns(link.read()); fit(view); });
    const list = make("fieldset", {}, make("legend", { textContent: "Columns to show" }), ...boxes.map((input, at) => make("label", {}, input, ` ${names[at]}`)), reset);
    const details = make("details", { className: "chooser" }, summary, list);
    details.addEventListener("toggle", () => {
      // The list stays in the window: a page must not scroll sideways
      list.style.left = "0";
      const over = list.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
      if (over > 0) list.style.left = `${-over}px`;
    });
    view.tools.append(details);
    view.tell = () => {
      boxes.forEach((input, at) => { input.checked = !view.away.has(at); });
      summary.textContent = view.away.size ? `Columns (${view.away.size} more)` : "Columns";
    };
    view.columns = (found) => {
      const text = found.get(parameter);
      // A name may contain a comma, such as those of settings in logs
      const wanted = (name) => `,${text},`.includes(`,${name},`);
      view.chosen = text !== null && text !== "";
      view.unwanted = view.chosen ? new Set(names.flatMap((name, at) => (at && !wanted(name) ? [at] : []))) : new Set(view.usual);
    };
  };

  // --- copies -------------------------------------------------------------------------------------

  const csv = (view) => {
    const at = view.names.flatMap((_, column) => (view.away.has(column) ? [] : [column]));
    const quoted = (text) => {
      // A spreadsheet runs text that begins so
      const safe = /^[=+@-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
      return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const rows = view.matches().map((row) => at.map((column) => {
      const cell = row.cells[column];
      return cell?.classList.contains("number") || cell?.classList.contains("n") ? valueOf(row, column) : cell?.textContent.replace(/\s+/g, " ").trim() ?? "";
    }));
    return [at.map((column) => view.names[column]), ...rows].map((row) => row.map(quoted).join(",")).join("\r\n");
  };

  const copied = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return undefined;
  };

  const copyable = (view) => {
    const button = make("button", { type: "button", textContent: "Copy as CSV", className: "csv" });
    button.addEventListener("click", async () => {
      const text = csv(view);
      button.value = text;
      try {
        await copied(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser refuses to copy";
      }
      setTimeout(() => { button.textContent = "Copy as CSV"; }, 2000);
    });
    view.tools.append(button);
  };

  // --- all together -------------------------------------------------------------------------------

  let unnamed = 0;
  for (const table of document.querySelectorAll(".wide > table")) {
    table.id ||= `table-${(unnamed += 1)}`;
    const heads = [...(table.tHead?.rows[0].cells ?? [])];
    const names = heads.map((head) => head.textContent.trim());
    const box = table.parentElement;
    const rows = [...(table.tBodies[0]?.rows ?? [])];
    const view = {
      table, heads, names, box, rows, away: new Set(), unwanted: new Set(), tools: make("div", { className: "tools" }),
      filter: () => {}, matches: () => rows, columns: () => {}, say: () => {},
    };
    tables.set(table.id, view);
    for (const row of table.classList.contains("stack") ? rows : []) {
      [...row.cells].forEach((cell, at) => { if (at) cell.dataset.label = names[at] ?? ""; });
    }
    let show = () => {};
    let order = () => {};
    if (table.classList.contains("sortable") && rows.length) {
      if (table.classList.contains("filterable") && rows.length > 1) {
        show = filterable(view);
        limited(view);
      }
      order = sortable(view);
      columns(view);
      copyable(view);
      // The tools leave the window together with their table
      const frame = make("div");
      box.replaceWith(frame);
      frame.append(view.tools, box, ...(view.more ? [view.more] : []));
    }
    view.follow = () => {
      const found = link.read();
      show(found);
      order(found.get(link.name(table, "sort")) ?? "");
      view.columns(found);
      view.filter();
      fit(view);
    };
    view.follow();
  }
  addEventListener("hashchange", () => { for (const view of tables.values()) view.follow(); });

  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    for (const view of tables.values()) fit(view);
  });
  // A table in a closed part of the page has no width yet
  addEventListener("toggle", ({ target }) => {
    for (const view of tables.values()) if (target.open && target.contains(view.table)) fit(view);
  }, true);

  // Paper has no buttons: all rows are printed
  addEventListener("beforeprint", () => {
    for (const view of tables.values()) { view.before = view.whole; view.whole = true; view.filter(); }
  });
  addEventListener("afterprint", () => {
    for (const view of tables.values()) { view.whole = view.before; view.filter(); }
  });
})();
