import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['e2e/interop/**/*.interop.ts'],
    maxWorkers: 2,
    maxConcurrency: 20,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
