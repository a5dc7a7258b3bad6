import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{contract,server,e2e,client,scripts}/**/*.test.ts'],
    globalSetup: ['server/testing/postgres.ts'],
    maxWorkers: 3,
    testTimeout: 20_000,
  },
})
