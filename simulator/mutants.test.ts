import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RULE_MUTANTS } from '#server/checks/rule-mutants.ts'
import { mutatedSource, nameOf } from './mutation.ts'

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
