import { mailOf } from '../alerts/alert-mail.ts'
import {
  type AlertMessage,
  failingMessage,
  type IncidentSummary,
  informationMessage,
  type MonitorSummary,
  recoveryMessage,
  summaryMessage,
  testMessage,
} from '../alerts/alert-message.ts'
import { createKeyring } from '../keyring.ts'
import type { Message } from '../mail/mail-message.ts'
import { renderMail } from '../mail/mail-templates.ts'

const MINUTE_MS = 60_000
const OPENED_AT = Date.UTC(2026, 10, 18, 11, 6)
const BASE_URL = 'https://dns.example.com'

const common = {
  id: 'alr_1',
  organization: 'Acme & Sons',
  baseUrl: BASE_URL,
  now: OPENED_AT + 10 * MINUTE_MS,
  acknowledge: `${BASE_URL}/dashboard/alert-acknowledgement/org_1.alr_1.signature`,
}
const later = { ...common, messageId: `alr_1_${OPENED_AT}`, now: OPENED_AT + 250 * MINUTE_MS }

const smallIncident: IncidentSummary = {
  id: 'inc_1',
  zone: 'example.com',
  state: 'MISMATCH',
  openedAt: OPENED_AT,
  resolvedAt: null,
  monitors: 1,
  failing: 1,
}
const largeIncident: IncidentSummary = {
  ...smallIncident,
  id: 'inc_2',
  state: 'NOT_FOUND',
  monitors: 400,
  failing: 398,
}

/** `found` is hostile: anyone can publish any text in the DNS. */
const monitor: MonitorSummary = {
  id: 'mon_1',
  name: 'www.example.com',
  recordType: 'A',
  expected: ['192.0.2.1', '192.0.2.2'],
  found: ['<b>@everyone</b> *192.0.2.9*'],
  cause: 'www.example.com has other records than expected.',
  advice: 'Replace 203.0.113.66 with 192.0.2.1 in the A records of www.example.com.',
  warnings: ['ns2.example.net did not answer.'],
  resolution: 'resolvers',
}
const monitors = ['www', 'shop', 'mail', 'api', 'blog'].map((label) => ({
  ...monitor,
  name: `${label}.example.com`,
  cause: 'example.com does not exist (NXDOMAIN).',
}))
const TITLES = ['www.example.com A: Mismatch', 'mail.example.org MX: No data', 'www.example.com A: recovered']

/** One message of each kind, as users receive them. */
export const SAMPLE_MESSAGES: Record<string, AlertMessage> = {
  failing: failingMessage(smallIncident, [monitor], common),
  failing_several: failingMessage(largeIncident, monitors, common),
  reminder: failingMessage(smallIncident, [monitor], { ...later, isRepeated: true }),
  escalation: failingMessage(smallIncident, [monitor], { ...later, isEscalated: true }),
  recovered: recoveryMessage({ ...smallIncident, failing: 0, resolvedAt: later.now }, [monitor], {
    ...later,
    resolves: { title: 'www.example.com A: Mismatch', at: OPENED_AT },
  }),
  digest: summaryMessage([{ name: 'Alerts', titles: TITLES, count: 12 }], { ...later, isDigest: true }),
  summary: summaryMessage(
    [
      { name: 'Still failing', titles: TITLES.slice(0, 2), count: 2 },
      { name: 'Recovered', titles: TITLES.slice(2), count: 1 },
    ],
    later,
  ),
  change_done: informationMessage(
    {
      ...{ what: 'change_done', monitorId: 'mon_1', name: 'www.example.com', recordType: 'A' },
      ...{ expected: ['192.0.2.7'], before: ['192.0.2.1'] },
    },
    later,
  ),
  wait_timed_out: informationMessage(
    {
      ...{ what: 'wait_timed_out', monitorId: 'mon_1', name: 'shop.example.com', recordType: 'CNAME' },
      expected: ['stores.example.net'],
    },
    later,
  ),
  test: testMessage(common),
}

/** Every mail about alerts, and some about accounts and webhooks. */
export function sampleMails(): Record<string, Message> {
  const rendering = { baseUrl: BASE_URL, keyring: createKeyring('x'.repeat(32)), about: 'adr_1' }
  const alerts = Object.entries(SAMPLE_MESSAGES).map(
    ([name, notice]) =>
      [name, mailOf(notice, `${BASE_URL}/dashboard/alert-address/unsubscribe/org_1.adr_1.signature`)] as const,
  )
  return {
    ...Object.fromEntries(alerts),
    confirm_address: renderMail(
      { kind: 'alert_address', organization: 'Acme & Sons', organizationId: 'org_1', issuedAt: 1_772_000_000_000 },
      rendering,
    ),
    password_reset: renderMail({ kind: 'password_reset' }, rendering),
    webhook_paused: renderMail(
      {
        kind: 'webhook_paused',
        ...{
          organization: 'Acme & Sons',
          url: 'https://hooks.example.com/dns',
          error: 'The endpoint responded with 500.',
        },
        statusCode: 500,
      },
      rendering,
    ),
  }
}
