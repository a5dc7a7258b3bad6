import { expect, onTestFinished, test, vi } from 'vitest'
import { packetOf } from '../../testing/signed-zone.ts'
import { givenSignedZone } from '../../testing/zone-signer.ts'
import { parseDsText } from './dnssec-records.ts'
import { validateResponse } from './validate.ts'
import { createValidationTurns, REST_MS_PER_STEP, USUAL_STEPS } from './validation-turns.ts'
import { CHECK_STEPS, ValidationWork } from './validation-work.ts'
import { TYPE } from './wire-records.ts'

const { zone: ZONE, signer, wires } = givenSignedZone()
const [RECORD, SIGNATURE] = wires(signer.signRrset(`www.${ZONE}. 300 IN A 192.0.2.1`))
let forgeries = 0

/** An answer with signatures that are not valid, which no other answer has. */
function answerWith(signatures: number) {
  const forged = Array.from({ length: signatures }, () => {
    const wire = Buffer.from(SIGNATURE!)
    wire.writeUInt32BE(++forgeries, wire.length - 4)
    return wire
  })
  const response = packetOf({ question: [`www.${ZONE}`, 'A'], answer: [RECORD!, ...forged] })
  const keyResponse = packetOf({ question: [ZONE, 'DNSKEY'], answer: wires(signer.keys()) })
  const question = { name: `www.${ZONE}`, type: TYPE.A }
  return { zone: ZONE, ds: [parseDsText(signer.ds)!], keyResponse, response, question, now: Date.parse('2026-01-01') }
}

/** Steps. */
const ED25519 = 35
/** Signatures. */
const CHEAP = 10
const COSTLY = 60

/** A clock whose pauses the test ends, one after the other. */
function givenTurns() {
  const pauses: { ms: number; end: () => void }[] = []
  const turns = createValidationTurns({
    sleep: (ms) => new Promise((resolve) => void pauses.push({ ms, end: resolve })),
  })
  const done: string[] = []
  return {
    pauses,
    done,
    async validate(group: string, signatures: number, work = new ValidationWork(CHECK_STEPS)) {
      const call = { work, group, signal: new AbortController().signal }
      const answer = answerWith(signatures)
      const verdict = await turns.run(call, (part) => validateResponse({ ...answer, work: part }))
      done.push(group)
      return verdict
    },
  }
}

const settle = () => new Promise(setImmediate)

test('what the validations of one check may cost is bounded, whatever its servers answer', async () => {
  const { validate, pauses } = givenTurns()
  let verifications = 0
  const { verify } = ValidationWork.prototype
  const counting = vi.spyOn(ValidationWork.prototype, 'verify').mockImplementation(function (
    this: ValidationWork,
    key,
    steps,
    compute,
  ) {
    return verify.call(this, key, steps, () => {
      verifications++
      return compute()
    })
  })
  onTestFinished(() => counting.mockRestore())
  const work = new ValidationWork(CHECK_STEPS)
  let last = ''
  for (let server = 0; server < 40; server++) {
    const running = validate('org_a', COSTLY, work)
    await settle()
    for (const { end } of pauses.splice(0)) end()
    last = (await running).kind
  }
  expect(last).toBe('unknown')
  expect(work.left).toBe(0)
  expect(verifications).toBeGreaterThan(200)
  expect(verifications).toBeLessThanOrEqual(CHECK_STEPS / ED25519)
})

test('costly checks of one organization wait for one another, and another organization is next', async () => {
  const { validate, pauses, done } = givenTurns()
  const all = [...['a1', 'a2', 'a3'].map(() => validate('a', COSTLY)), validate('b', COSTLY)]
  await settle()
  expect(done).toEqual(['a'])
  for (let turn = 0; turn < 4; turn++) {
    expect(pauses).toHaveLength(1)
    // The part within the usual was done before.
    expect(pauses[0]!.ms).toBeGreaterThan((USUAL_STEPS / 3) * REST_MS_PER_STEP)
    pauses.shift()!.end()
    await settle()
  }
  await Promise.all(all)
  expect(done).toEqual(['a', 'a', 'b', 'a'])
})

test('usual checks do not wait', async () => {
  const { validate, done } = givenTurns()
  void validate('a', COSTLY)
  void validate('a', COSTLY)
  await settle()
  await validate('a', CHEAP)
  await validate('b', CHEAP)
  expect(done).toEqual(['a', 'a', 'b'])
})

test('when too many wait, a check goes on without a verdict', async () => {
  const { validate } = givenTurns()
  const waiting = Array.from({ length: 300 }, () => validate('a', COSTLY))
  const refused = await Promise.race(waiting.slice(1))
  expect(refused).toEqual({ kind: 'unknown', reason: 'too_much_work' })
  await expect(Promise.race([validate('b', COSTLY), settle().then(() => 'waits')])).resolves.toBe('waits')
})
