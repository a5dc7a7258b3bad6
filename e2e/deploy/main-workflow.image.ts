import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { givenImage, givenNetwork, type Image, runMainWorkflow } from './container.ts'

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

test('a container with a read-only root runs the main workflow, keeps all data in the volume, and exits with 0 on SIGTERM', async () => {
  const { volume } = await runMainWorkflow(image)
  expect(await readdir(volume)).toEqual(expect.arrayContaining(['secret', 'zonewatch.db']))
})

test('the server writes nothing to a writable root', async () => {
  const { settings } = await givenNetwork()
  const container = await image.start(settings, { isReadOnly: false })
  expect((await fetch(`${container.url}/docs`)).status).toBe(200)
  expect(await container.stop()).toBe(0)
  // podman itself makes the files in /etc that name hosts and resolvers.
  expect((await container.written()).filter((path) => path !== 'C /etc')).toEqual([])
})

test('the image and the documents name the Node.js version of package.json', async () => {
  const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(await readFile('Dockerfile', 'utf8')).toContain(`/node:${devDependencies.node}-bookworm-slim\n`)
})
