// Sends a fixed number of records with OpenTelemetry's Node SDK.
//
// The protocol, endpoint, headers and compression come from the SDK's environment variables.
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const packages = { grpc: "grpc", "http/protobuf": "proto", "http/json": "http" };
const transport = packages[process.env.OTEL_EXPORTER_OTLP_PROTOCOL];
if (transport === undefined) {
  throw new Error("OTEL_EXPORTER_OTLP_PROTOCOL must be grpc, http/protobuf or http/json");
}
const exporterOf = async (signal, name) => {
  const exports = await import(`@opentelemetry/exporter-${signal}-otlp-${transport}`);
  return new exports[name]();
};

async function sendLogs(num) {
  const exporter = await exporterOf("logs", "OTLPLogExporter");
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger("sender");
  for (let i = 0; i < num; i++) {
    logger.emit({ body: `record ${i}`, timestamp: Date.now() });
  }
  await provider.shutdown();
}

// One data point of each counter.
async function sendMetrics(num) {
  const exporter = await exporterOf("metrics", "OTLPMetricExporter");
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const meter = provider.getMeter("sender");
  for (let i = 0; i < num; i++) {
    meter.createCounter(`counter.${i}`).add(1);
  }
  await provider.shutdown();
}

async function sendSpans(num) {
  const exporter = await exporterOf("trace", "OTLPTraceExporter");
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  const tracer = provider.getTracer("sender");
  for (let i = 0; i < num; i++) {
    tracer.startSpan(`span ${i}`).end();
  }
  await provider.shutdown();
}

await sendLogs(Number(process.env.SENDER_LOGS));
await sendMetrics(Number(process.env.SENDER_METRICS));
await sendSpans(Number(process.env.SENDER_TRACES));
