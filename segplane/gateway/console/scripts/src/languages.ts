// Words of KQL and SQL for highlighting: enough for a reader, no parser.
import { StreamLanguage } from "@codemirror/language";
import type { StringStream } from "@codemirror/language";

export type Language = "kql" | "sql";

const KQL_WORDS =
  /^(and|as|asc|between|by|contains|contains_cs|count|datatable|desc|distinct|endswith|evaluate|extend|externaldata|false|filter|from|getschema|has|has_all|has_any|has_cs|hasprefix|hassuffix|in|join|kind|let|limit|lookup|make-series|materialize|matches|mv-apply|mv-expand|not|null|nulls|first|last|on|or|order|parse|parse-where|partition|print|project|project-away|project-keep|project-rename|project-reorder|range|regex|render|sample|scan|search|serialize|sort|startswith|step|summarize|take|tail|to|top|top-nested|true|typeof|union|where|with)$/;
const SQL_WORDS =
  /^(all|and|any|as|asc|between|by|case|cast|cross|current|desc|distinct|else|end|except|exists|false|filter|first|following|from|full|group|having|ilike|in|inner|intersect|interval|is|join|last|left|like|limit|natural|not|null|nulls|offset|on|or|order|outer|over|partition|preceding|qualify|range|recursive|right|rows|select|then|true|unbounded|union|unnest|using|values|when|where|window|with)$/i;

/** Kind of the next token, which is taken from the stream. */
export function token(stream: StringStream, language: Language): string | null {
  const isKql = language === "kql";
  if (stream.eatSpace()) return null;
  if (stream.match(isKql ? /^\/\/.*/ : /^--.*/)) return "comment";
  if (isKql && stream.match(/^@?"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(isKql ? /^@?'(?:[^'\\]|\\.)*'?/ : /^'(?:[^']|'')*'?/)) return "string";
  if (!isKql && stream.match(/^"(?:[^"]|"")*"?/)) return "propertyName";
  if (stream.match(/^\d[\d.]*(?:e[+-]?\d+)?(?:microseconds?|ms|[smhd])?\b/i)) return "number";
  const word = stream.match(isKql ? /^[A-Za-z_]\w*(?:-[a-z]+)*/ : /^[A-Za-z_]\w*/) as RegExpMatchArray | null;
  if (word) {
    if ((isKql ? KQL_WORDS : SQL_WORDS).test(word[0])) return "keyword";
    return stream.match(/^\s*\(/, false) ? "variableName.function" : "variableName";
  }
  return stream.match(/^[|=<>!~+\-*/%]+/) ? "operator" : (stream.next(), null);
}

export function parserOf(language: Language): StreamLanguage<null> {
  const comment = { line: language === "kql" ? "//" : "--" };
  return StreamLanguage.define<null>({
    name: language,
    startState: () => null,
    token: (stream) => token(stream, language),
    languageData: { commentTokens: comment, closeBrackets: { brackets: ["(", "[", "{", "'"] } },
  });
}

const KQL_TABLE = /(?:^|[;(,=]|\bunion\b|\b(?:join|lookup)\b[^(|]*\()\s*(?:\['([^']+)'\]|([A-Za-z_][\w/]*))(?=\s*(?:$|[|);,.]))/gm;
const SQL_TABLE = /\b(?:from|join)\s+(?:"([^"]+)"|([A-Za-z_]\w*))/gi;

/** Names in a query where tables stand, at most four. */
export function tablesOf(text: string, language: Language): string[] {
  const names = [...text.matchAll(language === "kql" ? KQL_TABLE : SQL_TABLE)].map((match) => match[1] ?? match[2] ?? "");
  return [...new Set(names)].slice(0, 4);
}
