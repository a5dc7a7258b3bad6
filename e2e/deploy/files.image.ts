import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '#server/config/config.ts'
import { PROJECT, run, startServer } from '#server/testing/server-process.ts'
import { eventually, givenFolder } from '#server/testing/test-server.ts'

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

test('systemd is notified when the server is ready, and when it stops', async () => {
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

test('the systemd unit is valid and confines the service as far as V8 allows', async () => {
  const verified = await run(['systemd-analyze', 'verify', UNIT], {}).ended
  // What the guide installs in /opt is not here.
  expect(verified.stderr.replace(/^.*\/opt\/zonewatch\/.* is not executable: No such file or directory\n/m, '')).toBe(
    '',
  )
  const { stdout } = await run(['systemd-analyze', 'security', '--offline=true', UNIT], {}).ended
  expect(Number(/Overall exposure level for zonewatch.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2)
})

/** Where the types of each kind are, which are made from the schema of Kubernetes. */
const KINDS: Record<string, string> = {
  ConfigMap: 'kubernetes-types/core/v1',
  Service: 'kubernetes-types/core/v1',
  Deployment: 'kubernetes-types/apps/v1',
  PodDisruptionBudget: 'kubernetes-types/policy/v1',
  NetworkPolicy: 'kubernetes-types/networking/v1',
}

test('the Kubernetes manifests match the schema of Kubernetes', async () => {
  const folder = await mkdtemp(join(PROJECT, 'node_modules/.kubernetes-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const manifests = readManifests()
  expect(Object.keys(KINDS).filter((kind) => !manifests.some((manifest) => manifest.kind === kind))).toEqual([])
  const lines = manifests.flatMap((manifest, index) => [
    `import type { ${manifest.kind} as Kind${index} } from '${KINDS[manifest.kind]}'`,
    `export const manifest${index}: Kind${index} = ${JSON.stringify(manifest, null, 2)}`,
  ])
  await writeFile(join(folder, 'manifests.ts'), lines.join('\n'))
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'esnext', '--moduleResolution', 'bundler']
  const tsc = join(PROJECT, 'node_modules/.bin/tsc')
  expect((await run([tsc, ...options, 'manifests.ts'], {}, { cwd: folder }).ended).stdout).toBe('')
})

test('the selectors, probes and services of the Kubernetes manifests refer to existing pods and ports', () => {
  const manifests = readManifests()
  const pods = manifests.flatMap(({ spec }) => (spec?.template ? [spec.template] : []))
  const selects = (labels: object) => pods.filter((pod) => isSubset(labels, pod.metadata.labels))
  for (const { kind, metadata, spec } of manifests) {
    if (kind === 'ConfigMap') continue
    if (kind === 'NetworkPolicy') {
      expect([metadata.name, selects(spec!.podSelector!.matchLabels).length]).not.toContain(0)
      continue
    }
    const found = selects(spec!.selector.matchLabels ?? spec!.selector)
    expect([kind, metadata.name, found.length]).toEqual([kind, metadata.name, 1])
    const ports = found[0]!.spec.containers.flatMap((container) => container.ports.map(({ name }) => name))
    for (const { targetPort } of spec!.ports ?? []) expect(ports).toContain(targetPort)
  }
  for (const { spec } of pods) {
    const [container] = spec.containers
    for (const probe of [container!.startupProbe, container!.livenessProbe, container!.readinessProbe]) {
      expect(container!.ports.map(({ name }) => name)).toContain(probe.httpGet.port)
      expect(['/healthz', '/readyz']).toContain(probe.httpGet.path)
    }
  }
})

type Probe = { httpGet: { path: string; port: string } }
type Container = {
  ports: { name: string }[]
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe: Probe
}
type Pod = { metadata: { labels: object }; spec: { containers: Container[] } }
type Manifest = {
  kind: string
  metadata: { name: string }
  spec?: {
    selector: { matchLabels?: object }
    podSelector?: { matchLabels: object }
    template?: Pod
    ports?: { targetPort: string }[]
  }
}

const readManifests = (): Manifest[] =>
  parseAllDocuments(readFileSync(join(PROJECT, 'deploy/kubernetes/zonewatch.yaml'), 'utf8'), { strict: true }).map(
    (document) => {
      expect(document.errors).toEqual([])
      return document.toJS()
    },
  )

const isSubset = (part: object, whole: object) =>
  Object.entries(part).every(([name, value]) => (whole as Record<string, unknown>)[name] === value)

test('the files of deploy/ use only settings that exist', () => {
  const known = new Set(readConfig({}).lines.flatMap(({ name }) => [name, `${name}_FILE`]))
  const others = [
    'NODE_ENV',
    'NODE_EXTRA_CA_CERTS',
    'DOMAIN',
    'POSTGRES_USER',
    'POSTGRES_PASSWORD',
    'PATH',
    'CMD',
    'BUILDPLATFORM',
    'TCP',
    'UDP',
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
