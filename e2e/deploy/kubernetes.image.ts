import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { ADMIN, ADMIN_KEY, eventually, givenFolder } from '#server/testing/test-server.ts'
import { givenPodman, type Podman, textOf } from './podman.ts'

const DOMAIN = 'zonewatch.localhost'
const [POSTGRES_PASSWORD, SECRET] = [randomBytes(12).toString('hex'), randomBytes(32).toString('base64')]

let podman: Podman
beforeAll(() => {
  podman = givenPodman({ DOMAIN, POSTGRES_PASSWORD, SECRET })
})
afterAll(() => podman?.remove())

const ok = async (ended: ReturnType<Podman['call']>) => {
  const { code, stdout, stderr } = await ended
  expect(code, stdout + stderr).toBe(0)
  return stdout
}
/** A bound for what hangs. */
const patiently = <T>(ask: () => Promise<T>, isAccepted: (answer: T) => boolean) => eventually(ask, isAccepted, 300_000)
const addressOf = (container: string) =>
  podman
    .call('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container)
    .then(({ stdout }) => stdout.trim())

type Deployment = {
  kind: string
  metadata: { name: string }
  spec: { replicas: number; template: { spec: { terminationGracePeriodSeconds: number; containers: Container[] } } }
}
type Probe = { httpGet: { path: string; port: string } }
type Container = {
  image: string
  ports?: { name: string; containerPort: number }[]
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
  lifecycle?: { preStop: { exec: { command: string[] } } }
}

test('the Kubernetes pods run confined, answer their probes and exit with 0', async () => {
  const network = 'kubernetes'
  await ok(podman.call('network', 'create', network))
  const variables = { POSTGRES_USER: 'zonewatch', POSTGRES_PASSWORD }
  const given = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  await ok(podman.call('run', '-d', '--name', 'database', '--network', network, ...given, 'localhost/postgres:18'))
  const databaseUrl = `postgres://zonewatch:${POSTGRES_PASSWORD}@${await addressOf('database')}/zonewatch`
  const folder = await givenFolder()
  const secret = { DATABASE_URL: databaseUrl, SECRET, ...ADMIN }
  const encoded = Object.entries(secret).map(([name, value]) => [name, Buffer.from(value).toString('base64')])
  writeFileSync(join(folder, 'secret.json'), JSON.stringify(Object.fromEntries(encoded)))
  await ok(podman.call('secret', 'create', 'zonewatch', join(folder, 'secret.json')))

  const manifests = parseAllDocuments(textOf('deploy/kubernetes/zonewatch.yaml')).map((each) => each.toJS())
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment') as Deployment[]
  const played = structuredClone(manifests).filter(({ kind }) => ['ConfigMap', 'Deployment'].includes(kind))
  for (const { kind, spec } of played as Deployment[]) {
    if (kind !== 'Deployment') continue
    spec.replicas = 1
    for (const container of spec.template.spec.containers) {
      container.image = 'localhost/zonewatch'
      // Podman publishes ports on this machine, and runs probes with a curl in the image.
      for (const name of ['ports', 'startupProbe', 'livenessProbe', 'readinessProbe'] as const) delete container[name]
    }
  }
  const file = join(folder, 'zonewatch.yaml')
  writeFileSync(file, played.map((manifest) => stringify(manifest)).join('---\n'))
  await ok(podman.call('kube', 'play', '--network', network, file))

  for (const { metadata, spec } of deployments) {
    const [{ ports = [], startupProbe, livenessProbe, readinessProbe, lifecycle } = {} as Container] =
      spec.template.spec.containers
    const name = `${metadata.name}-pod-0-zonewatch`
    const address = await infraAddressOf(`${metadata.name}-pod-0`)
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
      const port = ports.find((each) => each.name === probe!.httpGet.port)!.containerPort
      const url = `http://${address}:${port}${probe!.httpGet.path}`
      await patiently(
        () => podman.curl('-f', url),
        ({ code }) => code === 0,
      )
    }
    const status = await ok(podman.call('exec', name, 'cat', '/proc/1/status'))
    for (const line of [/^CapEff:\t0+$/m, /^CapBnd:\t0+$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m]) {
      expect(status).toMatch(line)
    }
    expect(await ok(podman.call('exec', name, 'id'))).toContain('uid=10001')
    expect((await podman.call('exec', name, 'touch', '/app/x')).code).not.toBe(0)
    await ok(podman.call('exec', name, 'touch', '/data/x'))
    if (lifecycle) await ok(podman.call('exec', name, ...lifecycle.preStop.exec.command))
  }
  const api = await infraAddressOf('zonewatch-api-pod-0')
  const own = ['-H', `X-Api-Key: ${ADMIN_KEY}`]
  expect((await podman.curl(...own, `http://${api}:8080/monitors`)).stdout).toContain('"data":[]')
  for (const { metadata, spec } of deployments) {
    const name = `${metadata.name}-pod-0-zonewatch`
    await ok(podman.call('stop', '--time', String(spec.template.spec.terminationGracePeriodSeconds), name))
    expect(await ok(podman.call('inspect', '--format', '{{.State.ExitCode}}', name))).toBe('0\n')
  }
})

/** A pod's address is that of its first container. */
async function infraAddressOf(pod: string): Promise<string> {
  const { stdout } = await podman.call('pod', 'inspect', '--format', '{{.InfraContainerID}}', pod)
  return await addressOf(stdout.trim())
}
