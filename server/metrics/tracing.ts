import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import packageJson from '../../package.json' with { type: 'json' }

/** A completed operation. Attributes hold ids, kinds and numbers, never names, values or bodies. */
export type CompletedSpan = {
  name: string
  kind: 'server' | 'client' | 'internal'
  /** UTC epoch milliseconds. */
  startedAt: number
  endedAt: number
  attributes: Record<string, string | number>
  isFailed?: boolean
  /** The W3C header of the caller, whose trace this continues. */
  traceparent?: string | undefined
}

export type Tracing = { record(span: CompletedSpan): void; close(): Promise<void> }

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

/**
 * Sends spans to `endpoint` by OTLP over HTTP, in batches. Spans that do not fit into the queue are dropped. Only processes that
 * send traces load this file and OpenTelemetry.
 */
export function openTracing(
  endpoint: string,
  process: { machine: string; pid: number },
  log: Pick<Logger, 'warn' | 'info'>,
): Tracing {
  const resource = resourceFromAttributes({
    'service.name': 'zonewatch',
    'service.version': packageJson.version,
    'service.instance.id': `${process.machine}:${process.pid}`,
  })
  const exporter = loggedExporter(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }), endpoint, log)
  const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('zonewatch', packageJson.version)
  return {
    record({ name, kind, startedAt, endedAt, attributes, isFailed, traceparent }) {
      const parent = parseTraceparent(traceparent)
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
      const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: startedAt, attributes }, context)
      if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(endedAt)
    },
    close: () => provider.shutdown(),
  }
}

/** One line when spans cannot be sent, and one when they can again. OpenTelemetry itself logs nothing. */
function loggedExporter(exporter: SpanExporter, endpoint: string, log: Pick<Logger, 'warn' | 'info'>): SpanExporter {
  let isFailing = false
  return {
    export(spans, report) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== SUCCESS
        if (hasFailed && !isFailing) {
          const reason = result.error?.message ?? 'unknown'
          log.warn(
            { endpoint, reason },
            'Traces cannot be exported and are dropped. Check OTEL_EXPORTER_OTLP_ENDPOINT. Zonewatch logs when the endpoint accepts them again.',
          )
        }
        if (!hasFailed && isFailing) log.info({ endpoint }, 'Traces are exported again.')
        isFailing = hasFailed
        report(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** The result codes of @opentelemetry/core. */
const SUCCESS = 0

/** W3C Trace Context section 3.2. Ignores the sampled flag: every span of Zonewatch is recorded. */
function parseTraceparent(header = ''): SpanContext | undefined {
  const [, traceId, spanId] = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}$/.exec(header) ?? []
  return traceId && spanId ? { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true } : undefined
}
