import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { Delivery } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { recordName } from '#contract/wording.ts'
import { systemClock } from '../../clock.ts'
import type { QuestionType } from '../../dns/outcome.ts'
import type { Received } from '../receiver.ts'
import type { DemoEnvironment } from './environment.ts'
import type { Screen } from './screen.ts'
import { isServiceSignatureValid, isStandardSignatureValid } from './signatures.ts'

/** Ends the demo with the sentence in `message`. */
export class DemoFailure extends Error {}

type MonitorWithDiagnosis = Monitor & { diagnosis: Diagnosis }
type DemoRecord = { name: string; type: MonitorRecordType; expected: string; isExact?: false; published?: string }

const ZONE = 'shop.example'
const RECORDS: DemoRecord[] = [
  { name: `www.${ZONE}`, type: 'A', expected: '203.0.113.10' },
  { name: `cdn.${ZONE}`, type: 'CNAME', expected: 'shop.cdn.example' },
  { name: ZONE, type: 'MX', expected: '10 mail.shop.example' },
  {
    name: ZONE,
    type: 'SPF',
    expected: 'v=spf1 include:_spf.mail.example',
    isExact: false,
    published: 'v=spf1 mx -all',
  },
]
const HIJACKED = '198.51.100.66'
const WAIT_MS = 30_000

export async function watchRecords({ api, receiver, setRecord }: DemoEnvironment, screen: Screen) {
  screen.step('Watch', 'four records of shop.example, each with what it should say')
  const created = await api.post<Webhook>('/webhooks', { url: `${receiver.url}/dns-changes`, groups: ['default'] })
  assertDemo(created.status === 201, 'The webhook was not created.')
  const monitors: Monitor[] = []
  for (const { name, type, expected, isExact = true, published = expected } of RECORDS) {
    setRecord(name, queryType(type), [published])
    const { status, body } = await api.post<Monitor>('/monitors', {
      ...{ full_domain: name, record_type: type, expected_value: [expected], is_exact_match: isExact },
      notify: 'after_success', // report when a valid record becomes invalid
    })
    assertDemo(status === 201, `The monitor of ${name} ${type} was not created.`)
    monitors.push(body)
  }
  screen.rows(RECORDS.map(({ name, type, expected }) => ({ cells: [name, type.padEnd(5), expected] })))
  return { webhook: created.body, monitors }
}

export async function showFindings(environment: DemoEnvironment, monitors: Monitor[], screen: Screen): Promise<void> {
  screen.step('Check', 'each was looked up at once; from now on, every 5 minutes')
  const checked = await Promise.all(
    monitors.map(({ id }) => waitForMonitor(environment, id, ({ state }) => state !== 'UNSET')),
  )
  screen.rows(
    checked.map(({ domain, subdomain, record_type, state, current_value }) => ({
      mark: state === 'VALID' ? 'good' : 'bad',
      cells: [
        recordName({ domain, subdomain }),
        record_type.padEnd(5),
        state.padEnd(8),
        current_value?.join(', ') ?? '',
      ],
    })),
  )
  for (const { state, diagnosis } of checked) if (state !== 'VALID') screen.note(diagnosis.reason)
  assertDemo(checked[0]!.state === 'VALID', `The first check of www.${ZONE} resulted in ${checked[0]!.state}.`)
}

export async function changeRecord(environment: DemoEnvironment, monitor: Monitor, screen: Screen) {
  screen.step('Change', `somebody points www.${ZONE} elsewhere`)
  environment.setRecord(`www.${ZONE}`, 'A', [HIJACKED])
  const changedAt = systemClock.now()
  await environment.api.post(`/monitors/${monitor.id}/check`) // so that the demo does not wait for the schedule
  screen.rows([{ cells: [`www.${ZONE}`, 'A', `${monitor.expected_value[0]} → ${HIJACKED}`] }])
  const changed = await waitForMonitor(environment, monitor.id, ({ state }) => state === 'MISMATCH')

  const { reason, paths } = changed.diagnosis
  screen.step('Confirm', `VALID → ${changed.state}, after two name servers said the same`)
  assertDemo(
    new Set(paths.map(({ server }) => server)).size >= 2,
    'The change was reported after the answer of only one server.',
  )
  screen.rows(paths.map((path) => ({ mark: 'good', cells: evidenceCells(path) })))
  screen.note(reason)
  return changedAt
}

export async function showDelivery({ receiver }: DemoEnvironment, webhook: Webhook, changedAt: number, screen: Screen) {
  const requests = await receiver.waitFor(1, WAIT_MS).catch(() => [])
  const [request] = requests
  if (!request) throw new DemoFailure(`No webhook arrived within ${WAIT_MS / 1000} seconds.`)
  const seconds = ((request.at - changedAt) / 1000).toFixed(1)
  screen.step('Report', `a signed webhook arrived ${seconds} s after the change`)
  const { id, event } = JSON.parse(request.body.toString()) as Delivery
  screen.rows([
    { cells: ['POST'.padEnd(19), request.path] },
    { cells: ['id', id] },
    { cells: ['event.old_state', event.old_state] },
    { cells: ['event.new_state', event.new_state] },
    { cells: ['event.current_value', JSON.stringify(event.current_value)] },
  ])
  const { secret } = webhook
  const now = systemClock.now()
  const forged = { ...request, body: Buffer.from(request.body.toString().replace(HIJACKED, '203.0.113.10')) }
  const verify = (received: Received) => [
    isServiceSignatureValid(received, secret, now),
    isStandardSignatureValid(received, secret, now),
  ]
  assertDemo(verify(request).every(Boolean), 'The signature of the webhook is not valid.')
  assertDemo(!verify(forged).some(Boolean), 'The signature is valid for an altered body.')
  assertDemo(requests.length === 1 && event.new_state === 'MISMATCH', 'Another event than the change was reported.')
  screen.rows([
    { mark: 'good', cells: ['X-Service-Signature', 'HMAC-SHA256 of the body: holds'] },
    { mark: 'good', cells: ['webhook-signature', 'Standard Webhooks (id, time, body): holds'] },
    { mark: 'good', cells: ['with one value altered', 'refused by both'] },
  ])
}

async function waitForMonitor(
  environment: DemoEnvironment,
  id: string,
  isExpected: (monitor: MonitorWithDiagnosis) => boolean,
): Promise<MonitorWithDiagnosis> {
  const giveUpAt = systemClock.elapsed() + WAIT_MS
  for (;;) {
    const { body } = await environment.api.get<MonitorWithDiagnosis>(`/monitors/${id}?include=diagnosis`)
    if (isExpected(body)) return body
    if (systemClock.elapsed() > giveUpAt) {
      throw new DemoFailure(`The monitor of ${recordName(body)} ${body.record_type} stayed ${body.state}.`)
    }
    await systemClock.sleep(25)
  }
}

function evidenceCells({ server, transport, rcode, ms, outcome }: DiagnosisPath): string[] {
  const answer = outcome?.kind === 'answer' ? outcome.rrset.values.join(', ') : (outcome?.kind ?? 'truncated')
  return [server, transport, rcode ?? '-', answer, `${ms.toFixed(1)} ms`.padStart(8)]
}

function queryType(type: MonitorRecordType): QuestionType {
  return type === 'SPF' ? 'TXT' : type
}

function assertDemo(condition: boolean, failure: string): void {
  if (!condition) throw new DemoFailure(failure)
}
