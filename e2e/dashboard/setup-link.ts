import type { ServerProcess } from '#server/testing/server-process.ts'

const WAIT_MS = 10_000

/** The one-time link that a server without an organization writes to its log, without the address. */
export async function findSetupLink(server: Pick<ServerProcess, 'stdout'>): Promise<string> {
  const until = Date.now() + WAIT_MS
  for (;;) {
    const path = /\/dashboard\/setup\/[\w.-]+/.exec(server.stdout())?.[0]
    if (path !== undefined) return path
    if (Date.now() > until) throw new Error(`no set-up link in the log:\n${server.stdout()}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
