import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { run } from '#server/testing/server-process.ts'

/** The benchmarks behind docs/explanation/scaling.md, with small numbers: they run to their end, and what they print fits together. */

test('nodes: every number of processes works off overdue checks, and the CPU costs of database and workers are measured', async () => {
  const { rows, stderr } = await bench('nodes', '--monitors', '3000', '--processes', '1,2', '--rounds', '1')
  expect(rows.map(({ processes }) => processes)).toEqual([1, 2])
  for (const row of rows) {
    expect(row).toMatchObject({ bench: 'nodes' })
    expectBetween(row.checks_per_second, 20, 100_000)
    expectBetween(row.db_cpu_us_per_check, 0.1, 5_000)
    expectBetween(row.client_cpu_us_per_check, 10, 10_000)
    // An unchanged check writes nothing, and its round two small rows.
    expectBetween(row.wal_octets_per_check, 1, 100)
    expectBetween(row.cores_in_use, 0.01, availableParallelism() * 1.5)
    const perCore = Number(row.checks_per_second_per_db_core)
    expectBetween((perCore * Number(row.db_cpu_us_per_check)) / 1e6, 0.9, 1.1)
  }
  expect(stderr).toMatch(/^(The curve bends at 1 of these processes: 2 do \d+ % |No bend up to 2 processes )/m)
  expectBetween(/A claim that finds nothing: (\d+) µs/.exec(stderr)?.[1], 10, 10_000)
})

test('schedule: enough nodes run all checks on time, and too few nodes fall behind', async () => {
  const sizes = ['--monitors', '10000000', '--seconds', '4']
  const { rows } = await bench('schedule', ...sizes, '--workers', '2', '--nodes', '1,4')
  const due = Math.round(10_000_000 / 300)
  expect(rows).toMatchObject([
    { nodes: 1, workers: 2, due_per_second: due, keeps_up: false },
    { nodes: 4, workers: 8, due_per_second: due, keeps_up: true },
  ])
  const [few, enough] = rows as [Row, Row]
  // A worker has one core: at 76 µs a check, two do 26,300 a second.
  expectBetween(few.checks_per_second, 10_000, 2e6 / 76 + 1_000)
  expect(few.late_p50_ms).toBeGreaterThan(1_000)
  expectBetween(enough.checks_per_second, due * 0.995, due * 1.005)
  expectBetween(enough.late_p99_ms, 1, 200)
  for (const row of rows) {
    const checks = Number(row.checks_per_second)
    // Two writes of a round, which has up to 500 checks.
    expectBetween(Number(row.db_rows_written_per_second) / checks, 1.9 / 500, 2 / 50)
    expectBetween(row.client_cores, (checks * 76) / 1e6 - 0.1, (checks * 76) / 1e6 + 0.1)
    // 4.4 µs for a check, and the statements.
    expectBetween(row.db_cores, (checks * 4.4) / 1e6 - 0.1, (checks * 4.4) / 1e6 + 8)
    expectBetween(row.db_statements_per_second, checks / 500, checks)
  }
})

test('size: a monitor, an event and a request take the space that docs/explanation/scaling.md states', async () => {
  const { rows } = await bench('size', '--engine', 'sqlite', '--rows', '2000')
  const page = readFileSync('docs/explanation/scaling.md', 'utf8')
  const shown = ['monitors', 'events, with 1.5 KB of evidence each', 'delivered webhook requests'].map((name) =>
    Number(page.split(`| ${name} | `)[1]?.split(' | ')[0]),
  )
  const measured = ['monitor', 'event', 'request'].map((name) => Number(rows[0]![name]) / 1_000)
  for (const [at, gigabytes] of measured.entries()) expectBetween(gigabytes, shown[at]! * 0.85, shown[at]! * 1.15)
})

test.each([
  [['--help'], 0, 'stdout', 'Name a benchmark: npm run bench -- api, checks,'],
  [['laps'], 1, 'stderr', 'There is no benchmark laps. Name a benchmark:'],
  [['size', '--help'], 0, 'stdout', '  --engine <sqlite,postgres>'],
  [['jobs', '--speed', '9'], 1, 'stderr', "Unknown option '--speed'"],
] as const)('%j prints the usage', async (args, code, stream, text) => {
  const ended = await run(['npm', 'run', '--silent', 'bench', '--', ...args], {}).ended
  expect(ended).toMatchObject({ code, [stream]: expect.stringContaining(text) })
  expect(ended.stderr).not.toContain('node:internal')
})

type Row = Record<string, string | number | boolean | null>

/** The table that it prints. */
async function bench(...args: string[]): Promise<{ rows: Row[]; stderr: string }> {
  const { code, stdout, stderr } = await run(['npm', 'run', '--silent', 'bench', '--', ...args], {}).ended
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const lines = stdout.split('\n').filter((line) => line.startsWith('│'))
  const [names, ...values] = lines.map((line) =>
    line
      .split('│')
      .slice(2, -1)
      .map((cell) => cell.trim()),
  )
  return {
    rows: values.map((cells) => Object.fromEntries(cells.map((cell, at) => [names![at], parseCell(cell)]))),
    stderr,
  }
}

const parseCell = (cell: string) => (cell.startsWith("'") ? cell.slice(1, -1) : JSON.parse(cell)) as Row[string]

function expectBetween(value: unknown, least: number, most: number): void {
  expect(Number(value)).toBeGreaterThanOrEqual(least)
  expect(Number(value)).toBeLessThanOrEqual(most)
}
