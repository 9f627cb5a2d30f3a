// Names and types of what queries yield, by Kusto's own analyser: texts in, columns or errors out.
require("@kusto/language-service-next/bridge.min.js");
require("@kusto/language-service-next/Kusto.Language.Bridge.min.js");

const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const items = (list) => Array.from({ length: list.Count }, (_, n) => list.getItem(n));

function columns(text) {
  const code = Kusto.Language.KustoCode.ParseAndAnalyze(text);
  const errors = items(code.GetDiagnostics()).filter((d) => d.Severity === "Error");
  if (errors.length) return { error: errors[0].Message };
  return { columns: items(code.ResultType.Columns).map((c) => [c.Name, c.Type.Name]) };
}

process.stdout.write(JSON.stringify(texts.map(columns)));
