// Two to four results side by side; ratios only if the rules allow the comparison
(() => {
  const MOST = 4;
  const { facets, numbers, results } = window.podiumSearch;
  const names = Object.keys(facets);
  const rows = results.map((row) => {
    const words = names.map((name, at) => [name, facets[name][row[at]]]);
    const values = numbers.map((name, at) => [name, row[names.length + at]]);
    return { ...Object.fromEntries(words), ...Object.fromEntries(values), file: row.at(-1) };
  });
  const byFile = new Map(rows.map((row) => [row.file.replace("results/", ""), row]));
  const keyOf = (row) => row.file.replace("results/", "");
  const title = (row) => `${row.model} ${row.round}, ${row.submitter}, ${row.system}`;
  const form = document.getElementById("compare");
  const said = document.getElementById("said");
  const side = document.getElementById("side");
  const input = make("input", { type: "search", autocomplete: "off" });
  const found = make("ul", { className: "names" });
  form.append(make("label", { className: "filter" }, "Add a result ", input), found);

  const chosen = () => (link.read().get("r") ?? "").split(",").map((name) => byFile.get(name)).filter(Boolean).slice(0, MOST);
  const keep = (list) => { link.keep({ r: list.map(keyOf).join(",") }); show(); };

  const offer = () => {
    const words = wordsOf(input.value);
    const hits = words.length ? rows.filter((row) => words.every((word) => title(row).toLowerCase().includes(word))) : [];
    found.replaceChildren(...hits.slice(0, 12).map((row) => {
      const button = make("button", { type: "button", textContent: title(row) });
      button.addEventListener("click", () => { input.value = ""; offer(); keep([...chosen(), row].slice(-MOST)); });
      return make("li", {}, button);
    }));
  };

  const problem = (list) => {
    const differ = (name) => new Set(list.map((row) => row[name])).size > 1;
    if (differ("suite") || differ("model")) return "These results are of different benchmarks: their times must not be compared.";
    if (differ("span")) return "These rounds must not be compared: the rules of the benchmark changed between them.";
    if (differ("division")) return "Results of different divisions must not be compared.";
    if (list.some((row) => row.division !== "closed")) return "Open results may use different models: their times must not be compared.";
    return "";
  };

  const shown = (value, digits = 5) => (value === null || value === undefined || value === "" ? "–" : typeof value === "number" ? String(Number(value.toPrecision(digits))) : value);
  const percent = (value) => (value === null ? "–" : `${shown(value * 100, 3)} %`);
  const lines = (list, comparable) => [
    ["round", (row) => row.round],
    ["submitter", (row) => row.submitter],
    ["system", (row) => row.system],
    ["division", (row) => row.division],
    ["category", (row) => row.category],
    ["chips", (row) => `${shown(row.chips)} × ${row.chip}`],
    ["minutes †", (row) => shown(row.score)],
    ...(comparable ? [
      ["times as fast as the first †", (row) => (row.score && list[0].score ? shown(list[0].score / row.score, 4) : "–")],
      ["per chip, times as fast as the first †", (row) => (row.score && row.chips && list[0].score ? shown((list[0].score * list[0].chips) / (row.score * row.chips), 4) : "–")],
    ] : []),
    ["minutes × chips †", (row) => (row.score && row.chips ? shown(row.score * row.chips) : "–")],
    ["spread of runs †", (row) => percent(row.spread)],
    ["batch size", (row) => shown(row.batch_size, 9)],
    ["converges in", (row) => `${shown(row.to_converge, 7)} ${row.unit}`],
    ["over the minimum †", (row) => percent(row.over)],
  ];

  const show = () => {
    const list = chosen();
    const why = list.length > 1 ? problem(list) : "";
    said.textContent = why || (list.length < 2 ? "Choose at least two results." : "");
    if (!list.length) { side.replaceChildren(); return; }
    const table = make("table", { id: "comparison" }, make("caption", { textContent: "Results side by side" }));
    const head = table.createTHead().insertRow();
    head.append(make("th", { scope: "col", textContent: "result" }));
    for (const row of list) {
      const drop = make("button", { type: "button", textContent: "remove" });
      drop.setAttribute("aria-label", `remove ${title(row)}`);
      drop.addEventListener("click", () => keep(list.filter((other) => other !== row)));
      const anchor = make("a", { href: `${row.file}.html`, className: "line", textContent: row.system });
      head.append(make("th", { scope: "col" }, anchor, `${row.model} ${row.round} `, drop));
    }
    const body = table.createTBody();
    for (const [name, value] of lines(list, list.length > 1 && !why)) {
      const line = body.insertRow();
      line.append(make("th", { scope: "row", textContent: name }), ...list.map((row) => make("td", { textContent: value(row) })));
    }
    side.replaceChildren(table);
  };

  input.addEventListener("input", offer);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", show);
  show();
})();
