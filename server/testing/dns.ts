import { onTestFinished } from 'vitest'
import { createDnsClient, type DnsClient, type DnsClientOptions } from '../dns/client.ts'
import type { ServerAddress } from '../dns/outcome.ts'
import type { PacketSender } from '../dns/packet-sender.ts'
import { RDATA_FORMATS } from '../record-types/record-types.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'
import { patientClock } from './patient-clock.ts'

/** A test DNS server that is closed after the test. */
export async function givenDnsServer(options: Parameters<typeof startDnsServer>[0] = {}): Promise<DnsServer> {
  const dns = await startDnsServer(options)
  onTestFinished(() => dns.close())
  return dns
}

/** A DNS client for these servers that is closed after the test. Its clock tolerates a busy machine. */
export function givenDnsClient(
  servers: (DnsServer | ServerAddress)[],
  options: Partial<DnsClientOptions> = {},
): DnsClient & PacketSender {
  const addresses = servers.map((server) => ('address' in server ? server.address : server))
  const client = createDnsClient({
    formats: RDATA_FORMATS,
    clock: patientClock,
    timeoutMs: 2_000,
    attempts: 3,
    ...options,
    servers: addresses,
  })
  onTestFinished(() => client.close())
  return client
}
