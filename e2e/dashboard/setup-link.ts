import type { ServerProcess } from '#server/testing/server-process.ts'

const TIMEOUT_MS = 10_000

/** The path of the one-time link that a server without an organization logs. */
export async function findSetupLink(server: Pick<ServerProcess, 'stdout'>): Promise<string> {
  const giveUpAt = Date.now() + TIMEOUT_MS
  for (;;) {
    const path = /\/dashboard\/setup\/[\w.-]+/.exec(server.stdout())?.[0]
    if (path !== undefined) return path
    if (Date.now() > giveUpAt) throw new Error(`No setup link in the log:\n${server.stdout()}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
