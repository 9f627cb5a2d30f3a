import { LINES_MAX, linesOf } from "./lines.js";

const HEIGHT = 220;
const COLOURS = ["info", "error", "warn", "fatal", "debug"];
const DASHES = [[], [6, 3], [2, 2]];

/** Draw the result before its table, which stays for those who prefer it. */
export function drawResult(): void {
  const table = document.querySelector<HTMLTableElement>("table[data-chart-time]");
  const { chartTime, chartNumbers, chartSeries } = table?.dataset ?? {};
  if (!table || !chartTime || !chartNumbers) return;
  // A time may be shown in local time; its element has the one of the record.
  const text = (cell: HTMLTableCellElement) => cell.querySelector("time")?.dateTime ?? cell.textContent ?? "";
  const texts = (row: HTMLTableRowElement) => [...row.cells].map(text);
  const rows = [...(table.tBodies[0]?.rows ?? [])].map(texts);
  const columns = table.tHead?.rows[0] ? texts(table.tHead.rows[0]) : [];
  const lines = linesOf(rows, columns, Number(chartTime), chartNumbers.split(" ").map(Number), chartSeries ? Number(chartSeries) : null);
  if (!lines) return;
  const frame = document.createElement("div");
  frame.className = "chart";
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", `Chart over time of ${lines.names.join(", ")}; the table below has its numbers.`);
  (table.closest(".scroll") ?? table).before(frame);
  const css = getComputedStyle(document.documentElement);
  const axis = {
    stroke: () => css.getPropertyValue("--muted"),
    grid: { stroke: () => css.getPropertyValue("--line"), width: 1 },
    ticks: { stroke: () => css.getPropertyValue("--line"), width: 1 },
  };
  const series = lines.names.slice(0, LINES_MAX).map((label, n) => ({
    label,
    stroke: () => css.getPropertyValue(`--${COLOURS[n % COLOURS.length]}`),
    dash: DASHES[Math.floor(n / COLOURS.length) % DASHES.length] ?? [],
    width: 1.5,
    spanGaps: true,
  }));
  const options = {
    width: frame.clientWidth,
    height: HEIGHT,
    tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), "UTC"),
    axes: [axis, { ...axis, size: 64 }],
    series: [{}, ...series],
  };
  const plot = new uPlot(options, [lines.times, ...lines.values] as uPlot.AlignedData, frame);
  new ResizeObserver(() => plot.setSize({ width: frame.clientWidth, height: HEIGHT })).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw(false, false));
}
