// Progress of a query, and the button that cancels it.

/** Show how long a form's query runs, and let a button stop it with the rows that are there. */
export function watchRuns(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>("[data-cancel]");
  const text = form.querySelector<HTMLElement>("[data-progress]");
  if (!button || !text) return;
  let timer = 0;
  let started = 0;
  const rows = () => document.querySelectorAll("#result .data tbody tr").length;
  const secs = () => Math.round((performance.now() - started) / 1_000);
  const stop = (words: string) => {
    clearInterval(timer);
    button.hidden = true;
    text.textContent = words;
  };
  const start = (since: number, words: () => string) => {
    started = since;
    button.hidden = false;
    text.textContent = words();
    clearInterval(timer);
    timer = window.setInterval(() => (text.textContent = words()), 1_000);
  };
  form.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) start(performance.now(), () => `Running for ${secs()} s`);
  });
  let isStreaming = false;
  button.addEventListener("click", () => {
    // The gateway ends the query once the browser has left the request.
    window.stop();
    stop(isStreaming ? `Cancelled: ${rows()} rows were read before` : `Cancelled after ${secs()} s`);
    isStreaming = false;
  });
  // A page that the browser shows again has no query under way.
  window.addEventListener("pageshow", (event) => event.persisted && stop(""));
  if (document.readyState === "loading" && "running" in form.dataset) {
    isStreaming = true;
    start(0, () => `Running for ${secs()} s: ${rows()} rows`);
    document.addEventListener("DOMContentLoaded", () => {
      if (isStreaming) stop("");
      isStreaming = false;
    });
  }
}
