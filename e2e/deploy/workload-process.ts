import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { Workload } from './workload.ts'

/** A workload with its DNS server and receiver in its own process, at the hub of a lab that the test is not on. */
const [ip = '', url = '', key = ''] = process.argv.slice(2)
const [dns, receiver] = await Promise.all([startDnsServer({ ip }), startReceiver({ ip })])
const workload = new Workload({ url, key, dns, receiver })

const commands = {
  dnsPort: async () => dns.address.port,
  start: () => workload.start({ zones: 5, writers: 1 }),
  roundTrip: () => workload.roundTrip(),
  stop: () => workload.stop(),
  refused: async () => workload.refused(),
  verify: (databaseUrl: string) => workload.verify(databaseUrl),
}
export type Command = keyof typeof commands

process.on('message', async ({ number, name, argument }: { number: number; name: Command; argument: string }) => {
  const answer = await commands[name](argument).then(
    (result) => ({ result }),
    (error: Error) => ({ error: error.stack }),
  )
  process.send!({ number, ...answer })
})
process.on('disconnect', () => process.exit())
