import type { MonitorResponse, NewMonitor } from '#contract/monitors.ts'

/** Where someone puts their key in; the page does not know any. */
const KEY = '-H "X-Api-Key: $ZONEWATCH_KEY"'

/** The commands that show this monitor, and that would make one like it. */
export function curlOf(monitor: MonitorResponse, baseUrl: string): { show: string; make: string } {
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
    show: `curl ${KEY} \\\n  ${quoted(`${base}/monitors/${monitor.id}?include=frequency,group,diagnosis`)}`,
    make: [
      `curl -X POST ${quoted(`${base}/monitors`)}`,
      KEY,
      `-H ${quoted('Content-Type: application/json')}`,
      `-d ${quoted(JSON.stringify(body, null, 2))}`,
    ].join(' \\\n  '),
  }
}

/** For a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
