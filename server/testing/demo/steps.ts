import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { Delivery } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '../../clock.ts'
import type { QuestionType } from '../../dns/outcome.ts'
import type { Received } from '../receiver.ts'
import type { Stage } from './environment.ts'
import type { Screen } from './screen.ts'
import { holdsServiceSignature, holdsStandardSignature } from './signatures.ts'

/** Ends the demo with a sentence that says what did not happen. */
export class DemoFailure extends Error {}

type Diagnosed = Monitor & { diagnosis: Diagnosis }
type Plan = { name: string; type: MonitorRecordType; expected: string; isExact?: false; found?: string }

const ZONE = 'shop.example'
const PLAN: Plan[] = [
  { name: `www.${ZONE}`, type: 'A', expected: '203.0.113.10' },
  { name: `cdn.${ZONE}`, type: 'CNAME', expected: 'shop.cdn.example' },
  { name: ZONE, type: 'MX', expected: '10 mail.shop.example' },
  { name: ZONE, type: 'SPF', expected: 'v=spf1 include:_spf.mail.example', isExact: false, found: 'v=spf1 mx -all' },
]
const HIJACKED = '198.51.100.66'
const WAIT_MS = 30_000

export async function watchRecords({ api, receiver, setRecord }: Stage, screen: Screen) {
  screen.step('Watch', 'four records of shop.example, each with what it should say')
  const made = await api.post<Webhook>('/webhooks', { url: `${receiver.url}/dns-changes`, groups: ['default'] })
  insist(made.status === 201, 'The webhook was not made.')
  const monitors: Monitor[] = []
  for (const { name, type, expected, isExact = true, found = expected } of PLAN) {
    setRecord(name, queryType(type), [found])
    const { status, body } = await api.post<Monitor>('/monitors', {
      ...{ full_domain: name, record_type: type, expected_value: [expected], is_exact_match: isExact },
      notify: 'after_success', // told when what was right is right no more
    })
    insist(status === 201, `The monitor of ${name} ${type} was not made.`)
    monitors.push(body)
  }
  screen.rows(PLAN.map(({ name, type, expected }) => ({ cells: [name, type.padEnd(5), expected] })))
  return { webhook: made.body, monitors }
}

export async function showFindings(stage: Stage, monitors: Monitor[], screen: Screen): Promise<void> {
  screen.step('Check', 'each was looked up at once; from now on, every 5 minutes')
  const checked = await Promise.all(monitors.map(({ id }) => becomes(stage, id, ({ state }) => state !== 'UNSET')))
  screen.rows(
    checked.map(({ domain, subdomain, record_type, state, current_value }) => ({
      mark: state === 'VALID' ? 'good' : 'bad',
      cells: [nameOf({ domain, subdomain }), record_type.padEnd(5), state.padEnd(8), current_value?.join(', ') ?? ''],
    })),
  )
  for (const { state, diagnosis } of checked) if (state !== 'VALID') screen.note(diagnosis.reason)
  insist(checked[0]!.state === 'VALID', `The first look at www.${ZONE} came to ${checked[0]!.state}.`)
}

export async function changeRecord(stage: Stage, monitor: Monitor, screen: Screen) {
  screen.step('Change', `somebody points www.${ZONE} elsewhere`)
  stage.setRecord(`www.${ZONE}`, 'A', [HIJACKED])
  const changedAt = systemClock.now()
  await stage.api.post(`/monitors/${monitor.id}/check`) // now, so that nobody has to wait for its turn
  screen.rows([{ cells: [`www.${ZONE}`, 'A', `${monitor.expected_value[0]} → ${HIJACKED}`] }])
  const seen = await becomes(stage, monitor.id, ({ state }) => state === 'MISMATCH')

  const { reason, paths } = seen.diagnosis
  screen.step('Confirm', `VALID → ${seen.state}, after two name servers said the same`)
  insist(new Set(paths.map(({ server }) => server)).size >= 2, 'The change was reported on the word of one server.')
  screen.rows(paths.map((path) => ({ mark: 'good', cells: evidenceCells(path) })))
  screen.note(reason)
  return changedAt
}

export async function showDelivery({ receiver }: Stage, webhook: Webhook, changedAt: number, screen: Screen) {
  const came = await receiver.waitFor(1, WAIT_MS).catch(() => [])
  const [request] = came
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
  const isGood = (one: Received) => [holdsServiceSignature(one, secret, now), holdsStandardSignature(one, secret, now)]
  insist(isGood(request).every(Boolean), 'The signature of the webhook does not hold.')
  insist(!isGood(forged).some(Boolean), 'The signature holds for a body that was altered.')
  insist(came.length === 1 && event.new_state === 'MISMATCH', 'Something else was reported than the one change.')
  screen.rows([
    { mark: 'good', cells: ['X-Service-Signature', 'HMAC-SHA256 of the body: holds'] },
    { mark: 'good', cells: ['webhook-signature', 'Standard Webhooks (id, time, body): holds'] },
    { mark: 'good', cells: ['with one value altered', 'refused by both'] },
  ])
}

async function becomes(stage: Stage, id: string, isSo: (monitor: Diagnosed) => boolean): Promise<Diagnosed> {
  const giveUpAt = systemClock.elapsed() + WAIT_MS
  for (;;) {
    const { body } = await stage.api.get<Diagnosed>(`/monitors/${id}?include=diagnosis`)
    if (isSo(body)) return body
    if (systemClock.elapsed() > giveUpAt) {
      throw new DemoFailure(`The monitor of ${nameOf(body)} ${body.record_type} stayed ${body.state}.`)
    }
    await systemClock.sleep(25)
  }
}

function evidenceCells({ server, transport, rcode, ms, outcome }: DiagnosisPath): string[] {
  const answer = outcome?.kind === 'answer' ? outcome.rrset.values.join(', ') : (outcome?.kind ?? 'truncated')
  return [server, transport, rcode ?? '-', answer, `${ms.toFixed(1)} ms`.padStart(8)]
}

function nameOf({ domain, subdomain }: { domain: string; subdomain: string }): string {
  return subdomain === '' ? domain : `${subdomain}.${domain}`
}

function queryType(type: MonitorRecordType): QuestionType {
  return type === 'SPF' ? 'TXT' : type
}

function insist(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new DemoFailure(otherwise)
}
