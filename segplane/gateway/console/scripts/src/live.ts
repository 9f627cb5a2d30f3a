// The list of a live view: new records come at its top, unless it is paused.
import { Follower } from "./events.js";
import type { ViewEvent } from "./events.js";
import { Waiting, missingText } from "./waiting.js";
import { showLocalTimes } from "./times.js";

declare const htmx: { process(element: Element): void };

// Records on the page; older ones leave it at its end.
const RECORDS_MAX = 500;
const ROWS_OF_RECORD = 2;

/** Follow the live view of the page, if it has one. */
export function followLive(): void {
  const section = document.querySelector<HTMLElement>("section[data-live]");
  if (section) new LiveList(section);
}

class LiveList {
  readonly #state: HTMLElement;
  readonly #button: HTMLButtonElement;
  readonly #list: HTMLElement;
  readonly #body: HTMLTableSectionElement;
  readonly #waiting = new Waiting(RECORDS_MAX);
  #isPaused = false;
  #isConnected = false;
  #isRefused = false;

  constructor(readonly section: HTMLElement) {
    const part = <Part extends HTMLElement>(name: string) => section.querySelector(`[data-live-${name}]`) as Part;
    this.#state = part("state");
    this.#button = part("pause");
    this.#list = part("list");
    this.#body = this.#list.querySelector("tbody") as HTMLTableSectionElement;
    this.#button.hidden = false;
    this.#button.addEventListener("click", () => (this.#isPaused ? this.#resume() : this.#pause()));
    this.#list.addEventListener("scroll", () => this.#list.scrollTop > 4 && this.#pause());
    this.#list.addEventListener("click", () => this.#pause());
    this.#list.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && this.#pause());
    document.addEventListener("selectionchange", () => {
      const selection = getSelection();
      if (selection && !selection.isCollapsed && selection.containsNode(this.#body, true)) this.#pause();
    });
    new Follower(section.dataset["live"] ?? "", section.dataset["events"] ?? "", (event) => this.#take(event));
    this.#say();
  }

  #take({ kind, data }: ViewEvent): void {
    if (kind === "connected" || kind === "disconnected") this.#isConnected = kind === "connected";
    else if (kind === "refused") {
      this.#isRefused = true;
      this.#show("trouble", [data["message"], data["excerpt"]].filter(Boolean).join("\n"));
    } else {
      this.#isConnected = true;
      this.#show("trouble", String(data["trouble"] ?? ""));
    }
    if (kind === "state") this.#show("freshness", data["freshness"] ? `Freshness: ${String(data["freshness"])}` : "");
    if (kind === "rows") {
      this.#waiting.add({
        html: String(data["html"]),
        shown: Number(data["shown"]),
        leftOut: Number(data["left_out"]),
        segmentsLeftOut: Number(data["segments_left_out"]),
        isCut: Boolean(data["is_cut"]),
      });
      if (!this.#isPaused) this.#insert();
    }
    this.#say();
  }

  #insert(): void {
    const { html, missing } = this.#waiting.take();
    const before = this.#body.rows.length;
    // The gateway made it, and escaped what records hold.
    this.#body.insertAdjacentHTML("afterbegin", html.join(""));
    const added = [...this.#body.rows].slice(0, this.#body.rows.length - before);
    added.forEach((row) => {
      showLocalTimes(row);
      htmx.process(row);
    });
    while (this.#body.rows.length > RECORDS_MAX * ROWS_OF_RECORD) this.#body.deleteRow(-1);
    const text = missingText(missing);
    if (text) this.#show("missing", text);
  }

  #pause(): void {
    this.#isPaused = true;
    this.#say();
  }

  #resume(): void {
    this.#isPaused = false;
    getSelection()?.removeAllRanges();
    this.#insert();
    this.#list.scrollTop = 0;
    this.#say();
  }

  #say(): void {
    const number = this.#waiting.records;
    const text = this.#isRefused
      ? "Not followed"
      : this.#isPaused
        ? `Paused: ${number.toLocaleString("en")} new ${number === 1 ? "record" : "records"}`
        : this.#isConnected
          ? "Following"
          : "Connecting";
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#button.textContent = this.#isPaused ? "Continue" : "Pause";
    this.section.dataset["state"] = this.#isPaused ? "paused" : "following";
  }

  #show(name: string, text: string): void {
    const element = this.section.querySelector<HTMLElement>(`[data-live-${name}]`);
    if (!element) return;
    element.hidden = !text;
    element.textContent = text;
  }
}
