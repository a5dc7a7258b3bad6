import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{contract,server,dashboard,e2e,client,scripts}/**/*.test.ts'],
    setupFiles: ['server/testing/cpu-time.ts'],
    globalSetup: ['server/testing/postgres.ts', 'e2e/dashboard/prepare.ts'],
    maxWorkers: 4,
    // Loading the server costs more than most files of tests: a worker does it once. No module keeps what a test could change.
    isolate: false,
    // A bound for what hangs. How fast anything is, no test asserts.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
