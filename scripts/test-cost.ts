import type { Reporter, TestModule } from 'vitest/node'

const SHOWN = 10

/** Prints which test files cost the most CPU time: `npm run test:cost`. */
export default class TestCost implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules
      .map((module) => ({ name: module.relativeModuleId, seconds: (module.meta().cpuMs ?? 0) / 1_000 }))
      .sort((one, other) => other.seconds - one.seconds)
    const shown = Number(process.env.FILES ?? SHOWN)
    const all = files.reduce((sum, { seconds }) => sum + seconds, 0)
    const lines = files.slice(0, shown).map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)}  ${name}`)
    process.stdout.write(
      `\nCPU seconds of ${files.length} test files: ${all.toFixed(1)}. The most expensive:\n\n${lines.join('\n')}\n`,
    )
  }
}
