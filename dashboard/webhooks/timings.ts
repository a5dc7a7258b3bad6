/** A phase of an attempt, in milliseconds since its start. */
export type Phase = { name: string; from: number; ms: number }

const PHASES = [
  ['nameMs', 'DNS'],
  ['connectMs', 'Connect'],
  ['tlsMs', 'TLS'],
  ['firstByteMs', 'First byte'],
] as const

/** The phases in order. Phases that did not happen are left out, for example DNS on an open connection. */
export function phasesOf(timings: Readonly<Record<string, number>>): { phases: Phase[]; total: number } {
  const phases: Phase[] = []
  let from = 0
  for (const [key, name] of PHASES) {
    const ms = timings[key]
    if (ms === undefined) continue
    phases.push({ name, from, ms })
    from += ms
  }
  return { phases, total: Math.max(timings.totalMs ?? 0, from) }
}

/** "8 ms", "1.24 s". */
export const msText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`)
