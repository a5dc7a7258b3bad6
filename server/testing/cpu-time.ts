import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: the CPU time of its worker and of the processes it started and ended, in milliseconds. PostgreSQL's is not in it. */
    cpuMs?: number
  }
}

/** Linux counts the CPU time of ended children in hundredths of a second. */
const TICK_MS = 10

const before = cpuMs()
// biome-ignore lint/correctness/noEmptyPattern: Vitest wants a pattern there
afterAll(({}, { file }) => {
  file.meta.cpuMs = cpuMs() - before
})

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + childrenMs()
}

/** Zero where there is no /proc. */
function childrenMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS
  } catch {
    return 0
  }
}
