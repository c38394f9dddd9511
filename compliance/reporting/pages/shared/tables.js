"use strict";
// What a page is filtered and sorted by stands behind the # of its address, so that a link to it
// shows the same. An address without = there leads to a part of the page
const link = {
  read: () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""),
  keep: (values) => {
    const found = link.read();
    for (const [name, value] of Object.entries(values)) {
      if (value) found.set(name, value);
      else found.delete(name);
    }
    history.replaceState(null, "", `#${found}`);
  },
};

const chooser = (title, values, change) => {
  const label = document.createElement("label");
  const select = document.createElement("select");
  for (const value of ["", ...values]) select.append(new Option(value || "all", value));
  select.addEventListener("change", change);
  label.append(`${title} `, select);
  return [label, select];
};

const choose = (select, value) => {
  // A link may name what this page does not have: nothing is shown then, and the choice says why
  if (value && ![...select.options].some((option) => option.value === value)) {
    select.append(new Option(value, value));
  }
  select.value = value;
};

const inOrder = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;
(() => {
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
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
    // What has no value stands last, either way
    body.append(...known.map(([, row]) => row), ...rows.filter(([value]) => value === "").map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map((head) => head.textContent);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = names[column];
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        sort(table, column, up);
        if (table.id) link.keep({ [`${table.id}.sort`]: (up ? "" : "-") + names[column] });
      });
      head.replaceChildren(button);
    });
    return (wanted) => {
      const column = names.indexOf(wanted.replace(/^-/, ""));
      if (column >= 0) sort(table, column, !wanted.startsWith("-"));
    };
  };

  const filterable = (table) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const shown = document.createElement("output");
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2) return () => {};
    const choices = [];
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = choices.filter(({ select }) => select.value);
      let count = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const wanted = chosen.every(({ select, column }) => valueOf(row, column) === select.value);
        row.hidden = !wanted || !words.every((word) => text.includes(word));
        count += !row.hidden;
      }
      shown.value = words.length || chosen.length ? `${count} of ${rows.length} rows` : "";
    };
    const changed = () => {
      filter();
      if (!table.id) return;
      const named = choices.map(({ name, select }) => [`${table.id}.${name}`, select.value]);
      link.keep({ [`${table.id}.q`]: input.value, ...Object.fromEntries(named) });
    };
    label.className = "filter";
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!("choose" in head.dataset)) return;
      const name = head.textContent;
      const values = [...new Set(rows.map((row) => valueOf(row, column)))].filter(Boolean).sort(inOrder);
      if (values.length < 2) return;
      const [choice, select] = chooser(name, values, changed);
      choice.className = "choice";
      choices.push({ name, column, select });
      table.parentElement.before(choice);
    });
    input.type = "search";
    input.autocomplete = "off";
    label.append("Filter ", input, " ", shown);
    table.parentElement.before(label);
    input.addEventListener("input", changed);
    return (found) => {
      input.value = found.get(`${table.id}.q`) ?? "";
      for (const { name, select } of choices) choose(select, found.get(`${table.id}.${name}`) ?? "");
      filter();
    };
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    // Names are read off the heads before these become buttons
    const show = table.classList.contains("filterable") ? filterable(table) : () => {};
    const order = sortable(table);
    if (!table.id) continue;
    const follow = () => {
      show(link.read());
      order(link.read().get(`${table.id}.sort`) ?? "");
    };
    addEventListener("hashchange", follow);
    follow();
  }
})();
