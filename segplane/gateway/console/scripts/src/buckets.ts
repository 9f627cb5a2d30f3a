/** Severity classes from the bottom of a bar to its top: what is worst stands on the axis. */
export const CLASSES = ["fatal", "error", "warn", "info", "debug", "trace", "none"] as const;
export type Severity = (typeof CLASSES)[number];

// A range of any length has at most so many buckets; a table with more is not drawn.
const BUCKETS_MAX = 5_000;

/** One row of the table: the start of its bucket and the records of each severity class. */
export interface Row {
  start: number;
  counts: Partial<Record<Severity, number>>;
}

/** Buckets of one width over a range, times in milliseconds; `counts` has a list for each class. */
export interface Buckets {
  from: number;
  to: number;
  step: number;
  starts: number[];
  counts: Record<Severity, number[]>;
}

/** Buckets of the whole range, also of those times that have no row; null if they cannot be drawn. */
export function bucketsOf(from: number, to: number, step: number, rows: Row[]): Buckets | null {
  if (!(step > 0 && to > from && (to - from) / step <= BUCKETS_MAX)) return null;
  // Buckets may begin at multiples of their width or at the range's start.
  const shift = (rows[0]?.start ?? from) % step;
  const first = Math.floor((from - shift) / step) * step + shift;
  const starts: number[] = [];
  for (let start = first; start < to; start += step) starts.push(start);
  const byStart = new Map(rows.map((row) => [row.start, row.counts]));
  const entries = CLASSES.map((name) => [name, starts.map((start) => byStart.get(start)?.[name] ?? 0)]);
  return { from, to, step, starts, counts: Object.fromEntries(entries) as Record<Severity, number[]> };
}

/** Heights of the stacked bars: for each class its records and those of all classes below it. */
export function stack(buckets: Buckets): number[][] {
  const heights = buckets.starts.map(() => 0);
  return CLASSES.map((name) => {
    buckets.counts[name].forEach((count, index) => (heights[index] = (heights[index] ?? 0) + count));
    return [...heights];
  });
}

/** A selection of buckets; `anchor` stays where it is while `focus` moves. */
export interface Selection {
  anchor: number;
  focus: number;
}

/** The selection after a key, null if the key does not select. */
export function select(current: Selection | null, key: string, extends_: boolean, length: number): Selection | null {
  const last = length - 1;
  const from = current?.focus ?? (key === "ArrowLeft" || key === "End" ? length : -1);
  const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[key];
  if (target === undefined) return null;
  const focus = Math.min(Math.max(target, 0), last);
  return { anchor: extends_ && current ? current.anchor : focus, focus };
}

/** Range of a selection, within the whole range. */
export function rangeOf(buckets: Buckets, selection: Selection): [number, number] {
  const [low, high] = [Math.min(selection.anchor, selection.focus), Math.max(selection.anchor, selection.focus)];
  const start = (buckets.starts[0] ?? buckets.from) + low * buckets.step;
  return [Math.max(start, buckets.from), Math.min(start + (high - low + 1) * buckets.step, buckets.to)];
}

/** Records of a selection in words, such as `12 records: error 2, info 10`. */
export function describe(buckets: Buckets, selection: Selection): string {
  const [low, high] = [Math.min(selection.anchor, selection.focus), Math.max(selection.anchor, selection.focus)];
  const sums = CLASSES.map((name) => [name, sum(buckets.counts[name].slice(low, high + 1))] as const);
  const total = sum(sums.map(([, count]) => count));
  const parts = sums.filter(([, count]) => count).map(([name, count]) => `${name} ${count.toLocaleString("en")}`);
  return `${total.toLocaleString("en")} ${total === 1 ? "record" : "records"}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
