import { describe, expect, test } from 'vitest'
import type { ImportRow, ImportUpdates } from '#contract/dashboard.ts'
import type { NewMonitors } from '#contract/monitors.ts'
import { ApiProblem } from '../../api.ts'
import { type IndexedRow, type Run, type RunDeps, runImport } from './run.ts'

const row = (more: Partial<ImportRow> = {}): ImportRow => ({
  line: 1,
  full_domain: 'www.example.com',
  record_type: 'A',
  expected_value: ['192.0.2.1'],
  is_exact_match: true,
  group: null,
  notify: null,
  frequency: null,
  external_id: null,
  tags: null,
  metadata: null,
  result: 'create',
  monitor: null,
  reason: '',
  code: null,
  ...more,
})
const rows = (count: number): IndexedRow[] =>
  Array.from({ length: count }, (_, index) => ({
    index: index + 100,
    row: row({ full_domain: `${index}.example.com` }),
  }))

type Answer = number | ApiProblem
/** Answers in turn, and then that all were created. */
function world(...answers: Answer[]) {
  const bodies: NewMonitors[] = []
  const updated: ImportUpdates['updates'] = []
  const slept: number[] = []
  const progress: Run[] = []
  const deps: RunDeps = {
    post: async (body) => {
      bodies.push(body)
      const answer = answers.shift() ?? body.monitors.length
      if (answer instanceof ApiProblem) throw answer
      return answer
    },
    update: async ({ updates }) => {
      updated.push(...updates)
      return {
        updated: updates.length - 1,
        refused: [{ id: updates[0]!.id, code: 'changed_since_preview', reason: 'It was changed.' }],
      }
    },
    wait: async (seconds) => void slept.push(seconds),
    onProgress: (run) => progress.push(run),
  }
  return { bodies, updated, slept, progress, deps }
}
const forAll = { notify: 'immediately', frequency: 5 } as const

describe('an import', () => {
  test('sends chunks of a thousand rows and reports its progress', async () => {
    const { bodies, progress, deps } = world(1_000, 990, 500)
    const run = await runImport(rows(2_500), forAll, deps)
    expect(bodies.map(({ monitors }) => monitors.length)).toEqual([1_000, 1_000, 500])
    expect(bodies.every(({ ignore }) => ignore)).toBe(true)
    expect(progress.map(({ done }) => done)).toEqual([0, 1_000, 2_000, 2_500])
    expect(run).toMatchObject({ total: 2_500, done: 2_500, created: 2_490, problem: undefined })
  })

  test('rows that the server rejects are left out by index, and the rest of the chunk is created', async () => {
    const { bodies, deps } = world(new ApiProblem(400, { errors: { 'monitors.1.expected_value.0': 'is wrong.' } }))
    const run = await runImport(rows(3), forAll, deps)
    expect(bodies[1]!.monitors.map(({ full_domain }) => full_domain)).toEqual(['0.example.com', '2.example.com'])
    expect(run).toMatchObject({ created: 2, done: 3, rejected: new Map([[101, 'is wrong.']]) })
  })

  test('waits as long as the server says, and sends the same chunk again', async () => {
    const { bodies, slept, deps } = world(new ApiProblem(429, {}, 7))
    const run = await runImport(rows(2), forAll, deps)
    expect(slept).toEqual([7])
    expect(bodies[1]).toEqual(bodies[0])
    expect(run).toMatchObject({ created: 2, problem: undefined, waitSeconds: 0 })
  })

  test('ends at other errors, with the monitors created so far', async () => {
    const full = new ApiProblem(402, { error: 'Plan limit reached: 1,000 of 1,000 monitors are in use.' })
    const { bodies, deps } = world(1_000, full)
    const run = await runImport(rows(3_000), forAll, deps)
    expect(bodies).toHaveLength(2)
    expect(run).toMatchObject({ created: 1_000, done: 1_000, problem: full })
  })

  test('updates the monitors of rows that differ, and reports the rejected ones', async () => {
    const { bodies, updated, deps } = world()
    const monitor = (id: string) => ({ id, expected_value: ['192.0.2.9'], is_exact_match: false, group: 'default' })
    const differing = ['mon_1', 'mon_2'].map((id, index) => ({
      index,
      row: row({ result: 'update', monitor: monitor(id) }),
    }))
    const run = await runImport([...differing, ...rows(1)], forAll, deps)
    expect(bodies[0]!.monitors).toHaveLength(1)
    const before = { expected_value: ['192.0.2.9'], is_exact_match: false }
    expect(updated[1]).toEqual({ id: 'mon_2', was: before, expected_value: ['192.0.2.1'], is_exact_match: true })
    const known = {
      index: 0,
      row: row({ result: 'update', monitor: monitor('mon_3'), external_id: 'crm-1', group: 'shop' }),
    }
    await runImport([known], forAll, deps)
    expect(updated[2]).toMatchObject({ full_domain: 'www.example.com', record_type: 'A', group: 'shop' })
    expect(run).toMatchObject({ created: 1, updated: 1, done: 3, rejected: new Map([[0, 'It was changed.']]) })
  })

  test('a row is sent with its own settings only', async () => {
    const { bodies, deps } = world()
    const own = { index: 0, row: row({ group: 'shop', notify: 'on_success', frequency: 30 }) }
    await runImport([own, { index: 1, row: row() }], forAll, deps)
    expect(bodies[0]!.monitors[0]).toMatchObject({ group: 'shop', notify: 'on_success', frequency: 30 })
    expect(Object.keys(bodies[0]!.monitors[1]!)).toEqual([
      'full_domain',
      'record_type',
      'expected_value',
      'is_exact_match',
    ])
  })
})
