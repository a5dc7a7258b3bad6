import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { RULE_MUTANTS } from '#server/checks/rule-mutants.ts'
import { mutatedSource, nameOf } from './mutation.ts'
import type { Totals } from './totals.ts'
import type { Job } from './worker.ts'

const SERVER = new URL('../server/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, SERVER), 'utf8')
/** The files that decide. */
const RULE_FILES = [
  ...readdirSync(new URL('checks/', SERVER)).filter((name) =>
    /(?:rules?|sampling|rotation|split-horizon|check-state)\.ts$/.test(name),
  ),
].map((name) => `checks/${name}`)

test('every rule has a mutant', () => {
  const missing = RULE_FILES.flatMap((file) => {
    const rules = [...read(file).matchAll(/^\s+(?:\{ )?name: (?:'(.+?)'|"(.+?)"),/gm)].map(
      ([, one, other]) => one ?? other,
    )
    return rules.filter(
      (rule) => !RULE_MUTANTS.some((mutant) => mutant.file === file && 'rule' in mutant && mutant.rule === rule),
    )
  })
  expect(missing).toEqual([])
})

test('every threshold has a mutant', () => {
  const missing = RULE_FILES.flatMap((file) => {
    const found = [
      ...read(file).matchAll(/^(?:export )?const ([A-Z][A-Z_]+)(?:: number)? = (?:[\d(]|Math|\[\d|MAX|INCONCLUSIVE)/gm),
    ]
    return found
      .map(([, name]) => name)
      .filter(
        (name) =>
          !RULE_MUTANTS.some((mutant) => mutant.file === file && 'constant' in mutant && mutant.constant === name),
      )
      .map((name) => `${file} ${name}`)
  })
  expect(missing).toEqual([])
})

test('every mutant fits the source', () => {
  for (const mutant of RULE_MUTANTS) {
    if ('rule' in mutant) expect(read(mutant.file)).toContain(mutant.rule)
    else expect(mutatedSource(read(mutant.file), mutant), nameOf(mutant)).not.toBe(read(mutant.file))
  }
})

/** The whole list takes hours: `npm run simulate -- --mutants`. */
const SOME = ["Zone's name servers", 'Zone decides']
/** Three of these worlds show each of them. */
const WORLDS = { from: 3_005, worlds: 5 }

test.each(SOME)('worlds show that the rule "%s" never applies', async (rule) => {
  const mutant = RULE_MUTANTS.find((one) => 'rule' in one && one.rule === rule)!
  const workerData: Job = { ...WORLDS, mutant }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData, execArgv: [] })
  const [{ failed }] = (await once(worker, 'message')) as [Totals]
  await worker.terminate()
  expect(failed.length).toBeGreaterThan(0)
})
