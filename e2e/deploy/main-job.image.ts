import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { createApi } from '#server/testing/api.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { ADMIN, ADMIN_KEY, settingsOf } from '#server/testing/server-world.ts'
import { givenImage, type Image } from './container.ts'

let image: Image
beforeAll(() => {
  image = givenImage()
})
afterAll(() => image.remove())

test('the image runs as an ordinary user, has a health check and one volume', async () => {
  expect(await image.inspect()).toMatchObject({
    User: '10001:10001',
    Volumes: { '/data': {} },
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['CMD', 'node', '/app/bin/ready.js'] },
  })
})

test('the main job in a container with a read-only root: everything is in the volume, SIGTERM ends it with 0', async () => {
  const { dns, receiver, settings } = await givenNetwork()
  const container = await image.start(settings)
  const api = createApi(container.url, ADMIN_KEY)
  expect((await container.exec(['sh', '-c', 'id -u; touch /app/x || touch /tmp/x'])).code).not.toBe(0)

  await api.post<Webhook>('/webhooks', { url: receiver.url, groups: ['default'] })
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  const { id } = (await api.post<Monitor>('/monitors', monitor)).body
  await receiver.waitFor(1)
  dns.set('www.example.com', 'A', ['192.0.2.99'])
  await api.post(`/monitors/${id}/check`)
  const [, changed] = await receiver.waitFor(2)
  expect(JSON.parse(changed!.body.toString()).event).toMatchObject({ current_value: ['192.0.2.99'] })

  expect(await (await fetch(`${container.url}/dashboard`)).text()).toContain('<script type="module"')
  expect((await container.command(['keys', 'list'])).stdout).toContain('First key')
  expect(await container.stop()).toBe(0)
  expect(await readdir(container.volume)).toEqual(expect.arrayContaining(['secret', 'zonewatch.db']))
})

test('where the root can be written, nothing is', async () => {
  const { settings } = await givenNetwork()
  const container = await image.start(settings, { isReadOnly: false })
  expect((await fetch(`${container.url}/docs`)).status).toBe(200)
  expect(await container.stop()).toBe(0)
  // podman itself makes the files in /etc that name hosts and resolvers.
  expect((await container.written()).filter((path) => path !== 'C /etc')).toEqual([])
})

test('the image has the Node.js of package.json, and so have the documents', async () => {
  const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(await readFile('Dockerfile', 'utf8')).toContain(`/node:${devDependencies.node}-bookworm-slim\n`)
})

async function givenNetwork() {
  const [dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
  onTestFinished(async () => {
    await Promise.all([dns.close(), receiver.close()])
  })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const { DATA_DIR: _, DATABASE_URL: __, SECRET: ___, ...settings } = settingsOf({ dns, databaseUrl: '', folder: '' })
  return { dns, receiver, settings: { ...settings, ...ADMIN, HOST: '127.0.0.1' } }
}
