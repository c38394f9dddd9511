(() => {
  // Interactive curves replace the static ones when they come into view, because their script is
  // large. If it fails, the static ones stay
  const loaded = new Map();
  const load = (name) => {
    if (!loaded.has(name)) {
      loaded.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `charts/${name}.js`;
        script.addEventListener("load", resolve);
        script.addEventListener("error", reject);
        document.body.append(script);
      }));
    }
    return loaded.get(name);
  };
  const draw = async (figure) => {
    const name = figure.dataset.chart;
    await Promise.all([load("interactive"), load(name)]);
    await window.podiumDraw(figure, window.podiumCharts[name]);
  };
  const figures = document.querySelectorAll("figure[data-chart]");
  if (figures.length && "IntersectionObserver" in window) {
    window.podiumCharts = {};
    const observer = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        draw(target).catch(() => {});
      }
    }, { rootMargin: "300px" });
    for (const figure of figures) observer.observe(figure);
  }
})();
