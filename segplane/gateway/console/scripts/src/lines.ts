// Lines of a result over time, from the texts of its table.

export interface Lines {
  times: number[];
  names: string[];
  values: (number | null)[][];
}

/** At most this many are drawn: more are not told apart. */
export const LINES_MAX = 8;

/** Lines of a table's rows: a column of times, columns of numbers, and a column that names lines or null. */
export function linesOf(rows: string[][], columns: string[], time: number, numbers: number[], series: number | null): Lines | null {
  const points = new Map<string, Map<number, number>>();
  const times = new Set<number>();
  for (const row of rows) {
    const moment = Date.parse(row[time] ?? "") / 1_000;
    if (Number.isNaN(moment)) continue;
    times.add(moment);
    for (const number of numbers) {
      const parts = [series === null ? "" : row[series], numbers.length > 1 || series === null ? columns[number] : ""];
      const name = parts.filter(Boolean).join(" ") || "(empty)";
      const value = Number.parseFloat(row[number] ?? "");
      if (!points.has(name)) points.set(name, new Map());
      if (Number.isFinite(value)) points.get(name)?.set(moment, value);
    }
  }
  if (times.size < 2) return null;
  const sorted = [...times].sort((a, b) => a - b);
  const names = [...points.keys()].slice(0, LINES_MAX);
  return { times: sorted, names, values: names.map((name) => sorted.map((moment) => points.get(name)?.get(moment) ?? null)) };
}
