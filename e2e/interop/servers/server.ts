import { systemClock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import type { Question, ServerAddress } from '#server/dns/outcome.ts'
import { RDATA_FORMATS } from '#server/record-types/record-types.ts'
import { type Running, startProcess } from '../process.ts'
import { until } from '../until.ts'

/** A running DNS server. */
export type Server = { name: string; address: ServerAddress; pid: number; stop(): Promise<void> }

/** Replaces an RRset of a zone. `owner` is relative to the zone, `rdata` as in a zone file. */
export type Change = (zone: string, owner: string, type: string, rdata: string[]) => Promise<void>

/** An authoritative server whose records can be changed. */
export type AuthoritativeServer = Server & { change: Change }

export type Start = { name: string; command: string; args: string[]; address: ServerAddress; ready: Question }

/** Starts a server in the foreground and waits until it answers the query `ready`. */
export async function startServer({ name, command, args, address, ready }: Start): Promise<Server> {
  const running = startProcess(command, args)
  try {
    await answers(running, address, ready)
  } catch (error) {
    await running.stop()
    throw error
  }
  return { name, address, pid: running.pid, stop: running.stop }
}

/** Runs changes one after the other, because a zone has one file and one transaction at a time. */
export function inTurn(change: Change): Change {
  let last: Promise<unknown> = Promise.resolve()
  return (...args) => {
    const next = last.then(() => change(...args))
    last = next.catch(() => {})
    return next
  }
}

async function answers(running: Running, address: ServerAddress, question: Question): Promise<void> {
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: [address],
    clock: systemClock,
    timeoutMs: 1_000,
    attempts: 1,
  })
  let last = 'nothing'
  const look = async () => {
    const ended = running.ended()
    if (ended !== undefined) throw new Error(`${ended}\n${running.output()}`)
    const { outcome } = await dns.query(question)
    last = JSON.stringify(outcome)
    return outcome.kind === 'answer' || undefined
  }
  try {
    await until(look, { failure: () => `no answer for ${question.name} came, but ${last}\n${running.output()}` })
  } finally {
    await dns.close()
  }
}
