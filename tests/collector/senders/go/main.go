// Command sender exports a fixed number of records with OpenTelemetry's Go SDK.
//
// The protocol, endpoint, headers and compression come from the SDK's environment variables.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type exporters struct {
	logs    sdklog.Exporter
	metrics sdkmetric.Exporter
	spans   sdktrace.SpanExporter
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "sender:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	to, err := open(ctx, os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if err != nil {
		return err
	}
	if err := sendLogs(ctx, to.logs, count("SENDER_LOGS")); err != nil {
		return err
	}
	if err := sendMetrics(ctx, to.metrics, count("SENDER_METRICS")); err != nil {
		return err
	}
	return sendSpans(ctx, to.spans, count("SENDER_TRACES"))
}

func open(ctx context.Context, protocol string) (to exporters, err error) {
	switch protocol {
	case "grpc":
		if to.logs, err = otlploggrpc.New(ctx); err != nil {
			return to, err
		}
		if to.metrics, err = otlpmetricgrpc.New(ctx); err != nil {
			return to, err
		}
		to.spans, err = otlptracegrpc.New(ctx)
	case "http/protobuf":
		if to.logs, err = otlploghttp.New(ctx); err != nil {
			return to, err
		}
		if to.metrics, err = otlpmetrichttp.New(ctx); err != nil {
			return to, err
		}
		to.spans, err = otlptracehttp.New(ctx)
	default:
		err = fmt.Errorf("protocol %q is not grpc or http/protobuf", protocol)
	}
	return to, err
}

func sendLogs(ctx context.Context, to sdklog.Exporter, num int) error {
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(to)))
	logger := provider.Logger("sender")
	for i := range num {
		var record log.Record
		record.SetTimestamp(time.Now())
		record.SetBody(attribute.StringValue("record " + strconv.Itoa(i)))
		logger.Emit(ctx, record)
	}
	return provider.Shutdown(ctx)
}

// sendMetrics sends one data point of each counter.
func sendMetrics(ctx context.Context, to sdkmetric.Exporter, num int) error {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(to)))
	for i := range num {
		counter, err := provider.Meter("sender").Int64Counter("counter." + strconv.Itoa(i))
		if err != nil {
			return err
		}
		counter.Add(ctx, 1)
	}
	return provider.Shutdown(ctx)
}

func sendSpans(ctx context.Context, to sdktrace.SpanExporter, num int) error {
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(to))
	for i := range num {
		_, span := provider.Tracer("sender").Start(ctx, "span "+strconv.Itoa(i))
		span.End()
	}
	return provider.Shutdown(ctx)
}

func count(name string) int {
	num, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		fmt.Fprintln(os.Stderr, "sender:", name, "must be a number")
		os.Exit(2)
	}
	return num
}
