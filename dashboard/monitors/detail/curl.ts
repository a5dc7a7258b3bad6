import type { MonitorResponse, NewMonitor } from '#contract/monitors.ts'

/** A shell variable, because the page does not know an API key. */
const KEY = '-H "X-Api-Key: $ZONEWATCH_KEY"'

/** The curl commands that get this monitor and that create a copy. */
export function curlOf(monitor: MonitorResponse, baseUrl: string): { show: string; create: string } {
  const { domain, subdomain, record_type, expected_value, is_exact_match, notify, frequency, group, is_active } =
    monitor
  const body: NewMonitor = {
    domain,
    subdomain,
    record_type,
    expected_value,
    is_exact_match,
    notify,
    ...(frequency === undefined ? {} : { frequency }),
    ...(group === undefined ? {} : { group }),
    ...(is_active ? {} : { is_active }),
  }
  const base = baseUrl.replace(/\/$/, '')
  return {
    show: `curl ${KEY} \\\n  ${shellQuote(`${base}/monitors/${monitor.id}?include=frequency,group,diagnosis`)}`,
    create: [
      `curl -X POST ${shellQuote(`${base}/monitors`)}`,
      KEY,
      `-H ${shellQuote('Content-Type: application/json')}`,
      `-d ${shellQuote(JSON.stringify(body, null, 2))}`,
    ].join(' \\\n  '),
  }
}

/** For a POSIX shell. */
const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
