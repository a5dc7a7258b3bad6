import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take long come first, so that no worker is left alone with one of them at the end. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/e2e/')
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: ['{contract,server,simulator,dashboard,e2e,scripts}/**/*.test.ts'],
    setupFiles: ['server/testing/cpu-time.ts'],
    globalSetup: ['server/testing/postgres.ts', 'e2e/prepare.ts'],
    // More than there are cores: most tests wait for processes, timers and browsers.
    maxWorkers: 5,
    sequence: { sequencer: LongFilesFirst },
    // Loading the server costs more than most files of tests: a worker does it once. No module keeps what a test could change.
    isolate: false,
    // A bound for what hangs, far above what the longest test takes on a slow machine. No test asserts how fast anything is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
