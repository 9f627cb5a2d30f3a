const FOCUSABLE = "a[href], button, summary";

/** Index of the row after a step, from no row (-1) to the first; null without rows. */
export function nextRow(current: number, rows: number, step: 1 | -1): number | null {
  if (!rows) return null;
  return Math.min(Math.max(current < 0 ? 0 : current + step, 0), rows - 1);
}

/** `/` goes to the search box, j and k through the rows, Escape closes. */
export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.matches("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (act(event.key)) event.preventDefault();
  });
}

function act(key: string): boolean {
  switch (key) {
    case "/":
      return search();
    case "j":
      return go(1);
    case "k":
      return go(-1);
    case "Escape":
      return close();
    default:
      return false;
  }
}

function search(): boolean {
  const box = document.querySelector<HTMLInputElement>("main input[name='q'], main textarea[name='q']");
  box?.focus();
  box?.select();
  return box !== null;
}

function go(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((row) => row.getClientRects().length);
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const index = nextRow(current, rows.length, step);
  const row = index === null ? undefined : rows[index];
  if (!row) return false;
  const link = row.querySelector<HTMLElement>(FOCUSABLE);
  if (!link) row.tabIndex = -1;
  (link ?? row).focus();
  row.scrollIntoView({ block: "nearest" });
  return true;
}

function close(): boolean {
  const details = document.activeElement?.closest<HTMLDetailsElement>("details[open]");
  if (details) {
    details.open = false;
    details.querySelector<HTMLElement>("summary")?.focus();
    return true;
  }
  const button = [...document.querySelectorAll<HTMLElement>("[data-close]")].at(-1);
  button?.click();
  return button !== undefined;
}
