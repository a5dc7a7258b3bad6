import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Finding } from '#server/doctor/finding.ts'
import { eventually, givenFolder } from '#server/testing/test-server.ts'
import { givenPodman, type Podman, textOf } from './podman.ts'

const DOMAIN = 'zonewatch.localhost'
const [POSTGRES_PASSWORD, SECRET] = [randomBytes(12).toString('hex'), randomBytes(32).toString('base64')]
const PASSWORD = 'Correct horse battery'
const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }

let podman: Podman
beforeAll(() => {
  podman = givenPodman({ DOMAIN, POSTGRES_PASSWORD, SECRET })
})
afterAll(() => podman?.remove())

test('the guides install, back up and restore compose.yaml', async () => {
  const backups = await givenFolder()
  const block = (guide: string, start: string) => blockOf(guide, start).replaceAll('/backups/', `${backups}/`)
  await ok(podman.sh(block('install', 'docker compose -f deploy/compose.yaml up')))
  await isHealthy('zonewatch')
  expect(await ok(podman.sh('docker compose -f deploy/compose.yaml logs zonewatch'))).toContain('/dashboard/setup/')
  const doctor = await podman.sh('docker compose -f deploy/compose.yaml exec zonewatch zonewatch doctor --json')
  const findings = JSON.parse(doctor.stdout) as Finding[]
  const statusOf = (name: string) => findings.find(({ check }) => check === name)?.status
  for (const name of ['file permissions', 'migrations', 'durability', 'instances', 'secret']) {
    expect([name, statusOf(name)]).toEqual([name, 'ok'])
  }

  expect(await ok(podman.curl('-f', 'http://127.0.0.1:9464/metrics'))).toContain('zonewatch_process_up{process="api"')

  const request = await givenOrganization('deploy/compose.yaml', 'zonewatch', 'http://127.0.0.1:8080')
  const { id } = JSON.parse(await request('POST', '/monitors', MONITOR))
  await ok(podman.sh(block('back-up-and-restore', 'docker compose -f deploy/compose.yaml exec')))
  expect(existsSync(join(backups, 'one.backup'))).toBe(true)
  await request('DELETE', `/monitors/${id}`)
  expect(JSON.parse(await request('GET', '/monitors')).data).toEqual([])
  await ok(podman.sh(block('back-up-and-restore', 'docker compose -f deploy/compose.yaml stop')))
  await isHealthy('zonewatch')
  expect(JSON.parse(await request('GET', '/monitors')).data).toMatchObject([{ id }])

  await endsByItself('zonewatch')
  await isHealthy('zonewatch')
  expect(JSON.parse(await request('GET', `/monitors/${id}`))).toMatchObject({ id })
  await ok(podman.call('stop', 'deploy_zonewatch_1'))
  expect(await ok(podman.call('inspect', '--format', '{{.State.ExitCode}}', 'deploy_zonewatch_1'))).toBe('0\n')
})

test('compose.postgres.yaml runs two nodes behind TLS, and any one container may fail', async () => {
  await ok(podman.sh(blockOf('install', 'podman network create')))
  const url = `https://${DOMAIN}`
  await patiently(
    () => podman.curl('-k', '-f', `${url}/readyz`),
    ({ code }) => code === 0,
  )
  for (const node of ['node1', 'node2']) await isHealthy(node)
  for (const port of [9464, 9465]) {
    const metrics = await ok(podman.curl('-f', `http://127.0.0.1:${port}/metrics`))
    expect(metrics).toContain('zonewatch_process_up{process="api"')
    expect(metrics).toContain('zonewatch_instances{role="checker"}')
  }
  const request = await givenOrganization('deploy/compose.postgres.yaml', 'node1', url)
  const { id } = JSON.parse(await request('POST', '/monitors', MONITOR))
  // The nodes see the client behind the proxy, and not the proxy.
  const [{ address }] = JSON.parse(await request('GET', '/audit-log?action=monitor.created')).data
  const proxy = await ok(
    podman.call('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', 'deploy_proxy_1'),
  )
  expect(proxy).toMatch(/^10\.213\.0\.\d+\n$/)
  expect(address).toMatch(/^[\d.:a-f]+$/)
  expect(address).not.toBe(proxy.trim())

  for (const node of ['node1', 'node2']) {
    await ok(podman.call('stop', `deploy_${node}_1`))
    for (let count = 0; count < 5; count++) {
      expect(JSON.parse(await request('GET', `/monitors/${id}`))).toMatchObject({ id })
    }
    await ok(podman.call('start', `deploy_${node}_1`))
    await isHealthy(node)
  }
  for (const service of ['postgres', 'proxy', 'node1', 'node2']) {
    await endsByItself(service)
    await patiently(
      () => request('GET', `/monitors/${id}`),
      (body) => body.includes(id),
    )
  }
})

const ok = async (ended: ReturnType<Podman['call']>) => {
  const { code, stdout, stderr } = await ended
  expect(code, stdout + stderr).toBe(0)
  return stdout
}
/** A bound for what hangs. */
const patiently = <T>(ask: () => Promise<T>, isAccepted: (answer: T) => boolean) => eventually(ask, isAccepted, 300_000)

/** By the image's HEALTHCHECK. */
const isHealthy = (service: string) =>
  patiently(
    () => podman.call('healthcheck', 'run', `deploy_${service}_1`),
    ({ code }) => code === 0,
  )

/** Kills its first process, as the kernel does when memory runs out: the engine has to start it again. */
async function endsByItself(service: string): Promise<void> {
  const pidOf = () =>
    podman.call('inspect', '--format', '{{.State.Pid}}', `deploy_${service}_1`).then(({ stdout }) => Number(stdout))
  const killed = await pidOf()
  expect(killed).toBeGreaterThan(1)
  process.kill(killed, 'SIGKILL')
  await patiently(pidOf, (pid) => pid > 0 && pid !== killed)
}

/** Requests with the first key of an organization made by the command line. */
async function givenOrganization(file: string, service: string, url: string) {
  const command = 'zonewatch setup --organization Acme --email ada@example.com --json'
  const made = await ok(podman.sh(`docker compose -f ${file} exec -T ${service} ${command}`, PASSWORD))
  const { api_key } = JSON.parse(made) as { api_key: string }
  const headers = ['-H', `X-Api-Key: ${api_key}`, '-H', 'Content-Type: application/json']
  return async (method: string, path: string, body?: object) => {
    const given = body === undefined ? [] : ['--data', JSON.stringify(body)]
    return (await podman.curl('-k', '-X', method, ...headers, ...given, url + path)).stdout
  }
}

function blockOf(guide: string, start: string): string {
  const blocks = [...textOf(`docs/guides/${guide}.md`).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block!)
  return blocks.find((block) => block.startsWith(start))!
}
