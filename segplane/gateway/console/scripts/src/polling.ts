/** Skip the requests of parts that are loaded again and again while nobody sees the page. */
export function pausePolling(): void {
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden && (event.target as Element).matches("[hx-trigger*='every ']")) event.preventDefault();
  });
}
