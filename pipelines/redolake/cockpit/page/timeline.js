// The chart of the windows: rows by what became of them, and latency. Draws again when the page, its size or its theme changes.
(() => {
  "use strict";
  const COLOURS = { applied: "--good", undone: "--read", open: "--unread", before: "--online", held: "--bad", waiting: "--busy-wash" };
  const HEIGHT = 170;
  const FONT = "11px system-ui, sans-serif";
  const DAY = 86400;
  const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 4 * 3600, 12 * 3600, DAY, 7 * DAY];
  let chart = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");
  const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

  function duration(seconds) {
    if (seconds < 120) return `${Math.round(seconds)} s`;
    return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  function count(rows) {
    return rows >= 1e6 ? `${rows / 1e6} M` : rows >= 1e4 ? `${rows / 1e3} k` : String(rows);
  }

  // A bar is drawn from zero to the sum of its colour and those below it, so the highest sum is drawn first.
  function stacked(found) {
    const sums = [];
    let below = found.ends.map(() => 0);
    for (const name of Object.keys(COLOURS)) {
      below = below.map((sum, number) => sum + found.rows[name][number]);
      sums.unshift([name, below]);
    }
    return sums;
  }

  const fromZero = (_, __, most) => [0, 1.08 * (most || 1)];

  // Half a window on each side, so that the first and the last bar are whole. uPlot gives one window alone a day and more.
  const widened = (ends) => () => {
    const [first, last] = ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 0];
    const half = last > first ? (last - first) / (ends.length - 1) / 2 : 300;
    return [first - half, last + half];
  };

  const at = (seconds, step) => new Date(seconds * 1000).toISOString().slice(...(step < 60 ? [11, 19] : step < DAY ? [11, 16] : [5, 10]));

  function bars(name) {
    const paint = colour(COLOURS[name]);
    return { label: name, fill: paint, stroke: paint, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.7, 26] }) };
  }

  function axis(more) {
    const grid = { stroke: colour("--line"), width: 1 };
    return { stroke: colour("--faint"), font: FONT, ticks: { show: false }, grid, ...more };
  }

  function options(found, width, says) {
    const line = colour("--ink");
    return {
      width,
      height: HEIGHT,
      tzDate: utc,
      legend: { show: false },
      cursor: { y: false, drag: { x: false }, points: { show: false } },
      scales: { x: { range: widened(found.ends) }, rows: { range: fromZero }, latency: { range: fromZero } },
      axes: [
        axis({ grid: { show: false }, size: 26, space: 70, values: (_, all, __, ___, step) => all.map((seconds) => at(seconds, step)) }),
        axis({ scale: "rows", size: 46, space: 28, values: (_, all) => all.map(count) }),
        axis({ scale: "latency", side: 1, size: 52, space: 28, incrs: STEPS, grid: { show: false }, values: (_, all) => all.map(duration) }),
      ],
      series: [
        {},
        ...stacked(found).map(([name]) => ({ ...bars(name), scale: "rows" })),
        { label: "latency", scale: "latency", stroke: line, width: 1.5, dash: [4, 3], spanGaps: true, points: { size: 4, fill: line } },
      ],
      hooks: { setCursor: [(plot) => says(plot.cursor.idx)] },
    };
  }

  function draw() {
    if (chart) chart.destroy();
    chart = null;
    const place = document.querySelector(".timeline");
    if (!place) return;
    const found = JSON.parse(place.dataset.windows);
    const readout = document.querySelector(".readout");
    const still = readout.textContent;
    const says = (number) => {
      readout.textContent = number == null ? still : `${clock(found.ends[number])}: ${found.accounts[number]}`;
    };
    const data = [found.ends, ...stacked(found).map(([, sums]) => sums), found.latency];
    chart = new uPlot(options(found, place.clientWidth, says), data, place);
    chart.over.addEventListener("click", () => {
      if (chart.cursor.idx == null) return;
      const row = document.querySelector(`[aria-controls="${found.ids[chart.cursor.idx]}"]`);
      if (row.getAttribute("aria-expanded") !== "true") row.click();
      row.scrollIntoView({ block: "center" });
    });
  }

  function fit() {
    const place = document.querySelector(".timeline");
    if (chart && place && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: HEIGHT });
  }

  document.addEventListener("redolake:shown", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("resize", fit);
  draw();
})();
