// Editor of a query in the place of its text area, which keeps the text for the form.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import type { Range } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import type { DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { parserOf, tablesOf } from "./languages.js";
import type { Language } from "./languages.js";

const WORD = /(?:[A-Za-z_][\w/]*)?$/;
const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.string, color: "var(--warn)" },
  { tag: tags.number, color: "var(--fatal)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.function(tags.variableName), color: "var(--info)" },
]);
const THEME = EditorView.theme({
  "&": { background: "var(--surface)", color: "var(--text)", border: "1px solid var(--line-strong)", borderRadius: "5px", maxHeight: "50vh", minHeight: "9rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "var(--code)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", minHeight: "9rem" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "var(--accent-ground)" },
  ".cm-gutters": { background: "var(--raised)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-error": { textDecoration: "underline wavy var(--error)", textDecorationSkipInk: "none" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-tooltip": { background: "var(--surface)", color: "var(--text)", border: "1px solid var(--line-strong)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal" },
});

// Not CodeMirror's linter: its underlines are images, which the policy of the page refuses.
const mark = StateEffect.define<Range<Decoration>[]>();
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (set, change) => change.effects.reduce((all, effect) => (effect.is(mark) ? Decoration.set(effect.value) : all), set.map(change.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

/** Put an editor before the text area of a form. */
export function edit(area: HTMLTextAreaElement, languages: HTMLSelectElement, namesAddress: string): void {
  const language = () => languages.value as Language;
  const parser = new Compartment();
  const host = document.createElement("div");
  // Its styles are sheets of the shadow root: the policy of the page needs no exception.
  const root = host.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [(context) => complete(context, language(), namesAddress)] }),
        // Tab moves the focus, as everywhere.
        keymap.of([
          { key: "Mod-Enter", run: () => (area.form?.requestSubmit(), true) },
          ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap,
        ]),
        parser.of(parserOf(language())),
        syntaxHighlighting(COLOURS),
        marks,
        THEME,
        EditorView.lineWrapping,
        EditorState.changeFilter.of((change) => change.newDoc.length <= area.maxLength),
        EditorView.contentAttributes.of({ "aria-label": "Query in KQL or SQL. Control and Enter runs it." }),
        placeholder(area.placeholder),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) area.value = update.state.doc.toString();
        }),
      ],
    }),
  });
  languages.addEventListener("change", () => view.dispatch({ effects: parser.reconfigure(parserOf(language())) }));
  area.before(host);
  area.hidden = true;
  area.labels.forEach((label) => label.addEventListener("click", () => view.focus()));
  markErrors(view);
}

/** Underline the places of the errors that the page shows. */
function markErrors(view: EditorView): void {
  const doc = view.state.doc;
  const places = [...document.querySelectorAll<HTMLElement>("[data-error]")].flatMap((error) => {
    const [number, column, length] = ["line", "column", "length"].map((name) => Number(error.dataset[name])) as [number, number, number];
    if (number < 1 || number > doc.lines) return [];
    const line = doc.line(number);
    // At the end of a line its last character is marked.
    const from = Math.max(line.from, Math.min(line.from + column - 1, line.to - 1));
    const title = error.querySelector("[data-message]")?.textContent ?? "";
    const to = Math.min(from + length, line.to);
    return from < to ? [Decoration.mark({ class: "cm-error", attributes: { title } }).range(from, to)] : [];
  });
  if (!places[0]) return;
  view.dispatch({ effects: mark.of(places), selection: { anchor: places[0].from } });
  view.focus();
}

interface Names {
  names: { name: string; kind: string; detail: string }[];
}

async function complete(context: CompletionContext, language: Language, address: string): Promise<CompletionResult | null> {
  const word = context.matchBefore(WORD);
  if (!word || (word.from === word.to && !context.explicit)) return null;
  const parameters = new URLSearchParams({ lang: language, prefix: word.text });
  tablesOf(context.state.doc.toString(), language).forEach((name) => parameters.append("table", name));
  const aborted = new AbortController();
  context.addEventListener("abort", () => aborted.abort());
  try {
    const answer = await fetch(`${address}?${parameters}`, { signal: aborted.signal });
    if (!answer.ok) return null;
    const { names } = (await answer.json()) as Names;
    const options = names.map(({ name, kind, detail }): Completion => {
      const apply = /^[A-Za-z_]\w*$/.test(name) ? name : language === "kql" ? `['${name.replace(/['\\]/g, "\\$&")}']` : `"${name.replace(/"/g, '""')}"`;
      return { label: name, type: kind, detail, apply };
    });
    return { from: word.from, options };
  } catch {
    // The page may have been left meanwhile.
    return null;
  }
}
