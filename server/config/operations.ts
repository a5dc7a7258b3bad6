import { InvalidSetting, parseBaseUrl, parseHost, parseWhole } from './parse.ts'

export type OperationsSettings = {
  /** Where metrics, liveness and readiness are served beside the API. Null: nowhere. */
  metricsPort: { host: string; port: number } | null
  /** Anyone who sends it reads `/metrics` on the port of the API. Null: nobody does. */
  metricsToken: string | null
  /** Where traces are sent, by OTLP over HTTP. Without a slash at the end. Null: there are none. */
  tracesEndpoint: string | null
  /** Email addresses in lower case. Empty: the owners of the first organization. */
  operators: readonly string[]
}

type Read = <T>(name: string, preset: string, about: string, parse: (text: string) => T) => T
type Secret = (name: string, about: string, parse: (text: string) => string) => string | null

export function readOperationsSettings(read: Read, secret: Secret, host: string): OperationsSettings {
  const port = read('METRICS_PORT', '', 'a separate port for /metrics, /healthz and /readyz, without a key', parsePort)
  const metricsHost = read('METRICS_HOST', host, 'the address to listen on for METRICS_PORT', parseHost)
  const token = 'the bearer token for /metrics on PORT, at least 16 characters'
  return {
    metricsPort: port === null ? null : { host: metricsHost, port },
    metricsToken: secret('METRICS_TOKEN', token, parseToken),
    tracesEndpoint: read(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      '',
      'where OpenTelemetry traces are sent, by OTLP over HTTP: http://127.0.0.1:4318; none when empty',
      (text) => (text === '' ? null : parseBaseUrl(text)),
    ),
    operators: read(
      'OPERATORS',
      '',
      'email addresses that see the Server page, comma separated; the owners of the first organization when empty',
      parseOperators,
    ),
  }
}

const parsePort = (text: string): number | null => (text === '' ? null : parseWhole(text, 0, 65_535))

function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text))
    throw new InvalidSetting('needs at least 16 visible ASCII characters without spaces.')
  return text
}

function parseOperators(text: string): string[] {
  const addresses = text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '')
  const wrong = addresses.find((each) => !/^[^\s@]+@[^\s@]+$/.test(each))
  if (wrong !== undefined) throw new InvalidSetting(`must hold email addresses, not "${wrong}".`)
  return addresses
}
