import type { Options, Series } from "uplot";

import { rangeAddress } from "./address.js";
import { CLASSES, bucketsOf, describe, rangeOf, select, stack } from "./buckets.js";
import type { Buckets, Row, Selection, Severity } from "./buckets.js";
import { axisTexts, isLocal, localText } from "./times.js";

const HEIGHT = 124;
// Distances of the lines that count records: whole numbers.
const COUNTS = [...Array(15).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
const SVG = "http://www.w3.org/2000/svg";
const HELP = "Histogram of records over time. Left and right arrow choose a time, with shift a range, Enter shows it.";

/** Draw each histogram of a part from its table, which stays for those who prefer it. */
export function drawHistograms(part: Element): void {
  const tables = [...part.querySelectorAll<HTMLTableElement>("table[data-histogram]")];
  if (part.matches("table[data-histogram]")) tables.push(part as HTMLTableElement);
  for (const table of tables) {
    const buckets = read(table);
    delete table.dataset.histogram;
    if (buckets) new Chart(table, buckets);
  }
}

function read(table: HTMLTableElement): Buckets | null {
  const rows = [...table.querySelectorAll<HTMLTableRowElement>("tr[data-start]")].map((row): Row => {
    const cells = [...row.querySelectorAll<HTMLTableCellElement>("[data-severity]")];
    // Numbers are written with commas between thousands.
    const counts = cells.map((cell) => [cell.dataset.severity?.toLowerCase(), Number(cell.textContent?.replace(/\D/g, ""))]);
    return { start: Number(row.dataset.start), counts: Object.fromEntries(counts) as Row["counts"] };
  });
  const { from, to, step } = table.dataset;
  return bucketsOf(Number(from), Number(to), Number(step), rows);
}

/** A stacked bar chart over time with a brush for mouse and keyboard. */
class Chart {
  readonly #buckets: Buckets;
  readonly #plot: uPlot;
  readonly #text = element("div", "chart-range");
  #selection: Selection | null = null;

  constructor(table: HTMLTableElement, buckets: Buckets) {
    this.#buckets = buckets;
    const frame = element("div", "chart");
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", HELP);
    this.#text.setAttribute("role", "status");
    const drawing = element("div", "");
    frame.append(drawing, this.#text, legend(buckets));
    (table.closest("details") ?? table).before(frame);
    const data = [buckets.starts, ...stack(buckets).reverse()] as uPlot.AlignedData;
    this.#plot = new uPlot(this.#options(drawing.clientWidth), data, drawing);
    frame.addEventListener("keydown", (event) => this.#press(event));
    new ResizeObserver(() => this.#plot.setSize({ width: drawing.clientWidth, height: HEIGHT })).observe(drawing);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#plot.redraw(false, false));
  }

  #options(width: number): Options {
    const bars = uPlot.paths.bars?.({ align: 1, size: [0.9, 60] });
    const axis = {
      stroke: () => colour("--muted"),
      grid: { stroke: () => colour("--line"), width: 1 },
      ticks: { stroke: () => colour("--line"), width: 1 },
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
    };
    return {
      width,
      height: HEIGHT,
      ms: 1,
      tzDate: (time) => (isLocal() ? new Date(time) : uPlot.tzDate(new Date(time), "UTC")),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { range: () => [this.#buckets.from, this.#buckets.to] },
        y: { range: (_, __, most) => [0, Math.max(most, 1)] },
      },
      axes: [
        { ...axis, size: 40, space: 70, values: (_, times) => axisTexts(times.map(timeText)) },
        { ...axis, size: 56, space: 26, incrs: COUNTS },
      ],
      // The tallest bars come first and are covered by what is below them in the stack.
      series: [{}, ...[...CLASSES].reverse().map((name) => series(name, bars))],
      hooks: { setSelect: [() => this.#brush()], setCursor: [(plot) => this.#point(plot.cursor.idx)] },
    };
  }

  #brush(): void {
    const { left, width } = this.#plot.select;
    if (width < 3) return;
    this.#go(Math.floor(this.#plot.posToVal(left, "x")), Math.ceil(this.#plot.posToVal(left + width, "x")));
  }

  #point(index: number | null | undefined): void {
    if (this.#selection || typeof index !== "number") return;
    this.#say({ anchor: index, focus: index });
  }

  #press(event: KeyboardEvent): void {
    if (event.key === "Enter" && this.#selection) {
      this.#go(...rangeOf(this.#buckets, this.#selection));
    } else if (event.key === "Escape" && this.#selection) {
      this.#show(null);
    } else {
      const next = select(this.#selection, event.key, event.shiftKey, this.#buckets.starts.length);
      if (!next) return;
      this.#show(next);
    }
    event.preventDefault();
  }

  #show(selection: Selection | null): void {
    this.#selection = selection;
    const [from, to] = selection ? rangeOf(this.#buckets, selection) : [this.#buckets.from, this.#buckets.from];
    const left = this.#plot.valToPos(from, "x");
    const height = this.#plot.over.clientHeight;
    this.#plot.setSelect({ left, top: 0, width: this.#plot.valToPos(to, "x") - left, height }, false);
    if (selection) this.#say(selection);
    else this.#text.textContent = "";
  }

  #say(selection: Selection): void {
    const [from, to] = rangeOf(this.#buckets, selection).map(timeText);
    this.#text.textContent = `${from} to ${to}: ${describe(this.#buckets, selection)}`;
  }

  #go(from: number, to: number): void {
    location.assign(rangeAddress(location.href, from, to));
  }
}

function series(name: Severity, bars: Series.PathBuilder | undefined): Series {
  const fill = () => colour(`--bar-${name}`);
  return { fill, width: 0, points: { show: false }, ...(bars && { paths: bars }) };
}

function legend(buckets: Buckets): HTMLElement {
  const list = element("ul", "chart-legend");
  for (const name of CLASSES.filter((name) => buckets.counts[name].some(Boolean))) {
    const item = element("li", "");
    const mark = document.createElementNS(SVG, "svg");
    mark.setAttribute("viewBox", "0 0 1 1");
    mark.setAttribute("aria-hidden", "true");
    const square = document.createElementNS(SVG, "rect");
    square.setAttribute("width", "1");
    square.setAttribute("height", "1");
    square.setAttribute("class", `fill-${name}`);
    mark.append(square);
    item.append(mark, name);
    list.append(item);
  }
  return list;
}

function timeText(ms: number): string {
  const datetime = new Date(ms).toISOString();
  return (isLocal() ? localText(datetime) : null) ?? datetime.replace("T", " ");
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function element(tag: string, className: string): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}
