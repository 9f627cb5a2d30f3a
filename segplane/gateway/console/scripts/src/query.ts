// The query page: its editor, progress and cancellation.
import { edit } from "./editor.js";
import { watchRuns } from "./running.js";

// The script is asked for below the form, so that the form is there.
const form = document.querySelector<HTMLFormElement>("form.query");
const area = form?.querySelector("textarea");
const languages = form?.querySelector("select");
if (form && area && languages) {
  watchRuns(form);
  edit(area, languages, form.dataset.names ?? "");
}
