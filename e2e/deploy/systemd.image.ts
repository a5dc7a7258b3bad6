import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { describeConfig } from '#server/config/config.ts'
import { PROJECT, run, startServer } from '#server/testing/server-process.ts'
import { eventually, givenFolder } from '#server/testing/server-world.ts'

const UNIT = 'deploy/zonewatch.service'
/** Prints each datagram that comes to a socket: what systemd does with the socket that it names in NOTIFY_SOCKET. */
const LISTEN = `
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
while True:
    text, rights, flags, address = listener.recvmsg(4096, 4096)
    print(text.decode(), flush=True)
`

test('systemd hears when the server is ready, and when it stops', async () => {
  const folder = await givenFolder()
  const socket = join(folder, 'notify')
  const listener = run(['python3', '-c', LISTEN, socket], {})
  onTestFinished(() => listener.send('SIGKILL'))
  await eventually(async () => existsSync(socket), Boolean)

  const settings = { DATA_DIR: join(folder, 'data'), DNS_SERVERS: '127.0.0.1:9', DNS_ROOTS: 'off', DNS_CANARIES: 'off' }
  const server = await startServer({ ...settings, NOTIFY_SOCKET: socket })
  onTestFinished(() => server.kill())
  await eventually(
    async () => listener.stdout(),
    (text) => text.includes('READY=1'),
  )
  expect(listener.stdout()).not.toContain('STOPPING=1')
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
  expect(listener.stdout()).toContain('STOPPING=1')
})

test('the unit is valid and confines the service as far as V8 lets it', async () => {
  const verified = await run(['systemd-analyze', 'verify', UNIT], {}).ended
  // What the guide installs in /opt is not here.
  expect(verified.stderr.replace(/^.*\/opt\/zonewatch\/.* is not executable: No such file or directory\n/m, '')).toBe(
    '',
  )
  const { stdout } = await run(['systemd-analyze', 'security', '--offline=true', UNIT], {}).ended
  expect(Number(/Overall exposure level for zonewatch.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2)
})

test('each setting that a file of deploy/ names exists', () => {
  const known = new Set(describeConfig({}).flatMap(({ name }) => [name, `${name}_FILE`]))
  const others = [
    'NODE_ENV',
    'NODE_EXTRA_CA_CERTS',
    'DOMAIN',
    'POSTGRES_USER',
    'POSTGRES_PASSWORD',
    'PATH',
    'CMD',
    'BUILDPLATFORM',
  ]
  const files = globSync(['deploy/*.yaml', 'deploy/*.service', 'deploy/kubernetes/*.yaml', 'Dockerfile'], {
    cwd: PROJECT,
  })
  const names = files.flatMap((file) => settingsIn(readFileSync(join(PROJECT, file), 'utf8')))
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !known.has(name) && !others.includes(name))).toEqual([])
})

/** `NAME: value`, `NAME=value` and `{ name: NAME, … }`, outside of comments. */
function settingsIn(text: string): string[] {
  const lines = text.split('\n').filter((line) => !line.trim().startsWith('#') && !line.startsWith('ARG'))
  return lines.flatMap((line) =>
    [...line.matchAll(/\b([A-Z][A-Z0-9]*_?[A-Z0-9_]{2,})(?=[:=](?!\w*\})|,)/g)].map(([name]) => name),
  )
}
