import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{contract,server,dashboard,e2e,client,scripts}/**/*.test.ts'],
    globalSetup: ['server/testing/postgres.ts', 'e2e/dashboard/prepare.ts'],
    maxWorkers: 3,
    testTimeout: 20_000,
    // Real processes and sockets share a machine of unknown load there; a test that fails twice is broken, not unlucky.
    retry: process.env.CI ? 2 : 0,
  },
})
