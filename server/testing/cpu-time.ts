import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** The CPU time of a test file and of the processes that it started, in milliseconds, without PostgreSQL. */
    cpuMs?: number
  }
}

/** The unit of CPU time in /proc. */
const TICK_MS = 10

const cpuMsAtStart = cpuMs()
// biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern here
afterAll(({}, { file }) => {
  file.meta.cpuMs = cpuMs() - cpuMsAtStart
})

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + childrenMs()
}

/** Zero without /proc. */
function childrenMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS
  } catch {
    return 0
  }
}
