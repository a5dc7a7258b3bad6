import type { Question, Reply, ServerAddress } from './outcome.ts'

/** Asks name servers. Never throws for what the network does: every way it can go is an `Outcome`. */
export type DnsClient = {
  /** Servers asked by default: the configured recursive servers, in order. */
  readonly servers: readonly ServerAddress[]
  /** Resolves within `timeoutMs * tries`. `servers` replaces the default list for this question. */
  ask(question: Question, options?: { servers?: readonly ServerAddress[]; signal?: AbortSignal }): Promise<Reply>
  close(): Promise<void>
}
