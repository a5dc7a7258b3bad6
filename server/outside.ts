import type { Logger } from 'pino'
import { Bell } from './bell.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { type Database, openDatabase } from './database/database.ts'
import { createDnsClient, type DnsClient } from './dns/client.ts'
import { systemServers } from './dns/servers.ts'
import { Heart } from './heart.ts'
import { createSeal, type Seal } from './seal.ts'
import { lookupThrough } from './webhooks/lookup.ts'
import { createSafeFetch, type SafeFetch } from './webhooks/safe-fetch.ts'

/** The doors to the world. Whatever the product does outside of itself goes through one of these. */
export type Doors = {
  config: Config
  clock: Clock
  log: Logger
  db: Database
  dns: DnsClient
  safeFetch: SafeFetch
  seal: Seal
  heart: Heart
  /** Rings when there is something to send. */
  bell: Bell
}

/** `secret`: the server's own, from the settings or the data folder. Opens no connection yet. */
export function openDoors(config: Config, secret: string, log: Logger, clock: Clock = systemClock): Doors {
  const dns = openDns(config, clock)
  const safeFetch = createSafeFetch({
    lookup: lookupThrough(dns),
    clock,
    allowedNetworks: config.webhookAllowedNetworks,
    deniedPorts: config.webhookDeniedPorts,
    ...(config.webhookAuthorities === null ? {} : { authorities: config.webhookAuthorities }),
    ...(config.webhookProxy === null ? {} : { proxy: config.webhookProxy }),
  })
  return {
    config,
    clock,
    log,
    db: openDatabase(config.databaseUrl),
    dns,
    safeFetch,
    seal: createSeal(secret),
    heart: new Heart(),
    bell: new Bell(),
  }
}

export function openDns(config: Config, clock: Clock = systemClock): DnsClient {
  return createDnsClient({
    servers: config.dnsServers ?? systemServers(),
    clock,
    timeoutMs: config.dnsTimeoutMs,
    tries: config.dnsTries,
    inFlightPerServer: config.dnsInFlight,
  })
}

export async function closeDoors({ dns, safeFetch, db }: Doors): Promise<void> {
  await Promise.allSettled([dns.close(), safeFetch.close()])
  await db.destroy()
}
