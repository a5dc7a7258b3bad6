import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import { createApi } from '#server/testing/api-client.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { freePort, run, type Settings } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, serverSettings } from '#server/testing/test-server.ts'
import { type Architecture, buildImage, storageOptions } from '../../scripts/container-image.ts'

/** Only for a container that hangs: an emulated start takes minutes. */
const READY_TIMEOUT_MS = 900_000
const IMAGE = 'localhost/zonewatch-test'

/** An image in the test's own storage. Its containers use the network of this machine. */
export type Image = {
  /** The configuration of the image as `docker inspect` shows it. */
  inspect(): Promise<ImageConfig>
  /** Starts a container with these additional settings and waits until its HEALTHCHECK passes. */
  start(settings: Settings, options?: { isReadOnly?: boolean }): Promise<Container>
  remove(): Promise<void>
}

export type ImageConfig = { User: string; Volumes: object; StopSignal: string; Healthcheck: { Test: string[] } }

export type Container = {
  url: string
  /** Runs a zonewatch command in the container. */
  command(args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** Runs any program in the container. */
  exec(args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** Sends SIGTERM as `docker stop` does, and returns the exit code. */
  stop(): Promise<number>
  /** The changed paths outside of the volumes, as `docker diff` lists them. */
  written(): Promise<string[]>
  /** The folder of this machine that is mounted as /data. */
  volume: string
  log(): Promise<string>
}

export function givenImage(architecture?: Architecture): Image {
  const storage = mkdtempSync(join(tmpdir(), 'zonewatch-containers-'))
  const podman = ['podman', ...storageOptions(storage), '--cgroup-manager', 'cgroupfs', '--runtime', 'runc']
  const call = (...args: string[]) =>
    run([...podman, ...args], {}).ended.then(({ code, ...out }) => ({ code: code ?? -1, ...out }))
  const names: string[] = []
  buildImage(IMAGE, storage, architecture)

  async function start(settings: Settings, { isReadOnly = true } = {}): Promise<Container> {
    const port = await freePort()
    const name = `zonewatch-${names.length}`
    names.push(name)
    const volume = join(storage, `data-${names.length}`)
    mkdirSync(volume)
    // A new Docker volume gets the owner of the folder in the image.
    await run(['chown', '10001:10001', volume], {}).ended
    const environment = Object.entries({ ...settings, PORT: String(port) }).flatMap(([key, value]) => [
      '--env',
      `${key}=${value}`,
    ])
    const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096'] // the limits of this machine may be lower than podman's
    const confinement = [
      '--cap-drop',
      'all',
      '--security-opt',
      'no-new-privileges',
      ...(isReadOnly ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ]
    // In the foreground podman waits for the container and needs no monitor process.
    const running = spawn(
      podman[0]!,
      [
        ...podman.slice(1),
        'run',
        '--name',
        name,
        '--passwd=false',
        '--network',
        'host',
        ...limits,
        ...confinement,
        '--volume',
        `${volume}:/data`,
        ...environment,
        IMAGE,
      ],
      { stdio: 'ignore' },
    )
    const ended = new Promise<number>((resolve) => running.once('exit', (code) => resolve(code ?? -1)))
    const isHealthy = async () => (await call('exec', name, 'node', '/app/bin/ready.js')).code === 0
    const giveUpAt = systemClock.elapsed() + READY_TIMEOUT_MS
    while (!(await isHealthy())) {
      if (systemClock.elapsed() > giveUpAt || running.exitCode !== null)
        throw new Error(`The container is not healthy:\n${(await call('logs', name)).stdout}`)
      await systemClock.sleep(250)
    }
    return {
      url: `http://127.0.0.1:${port}`,
      command: (args) => call('exec', name, 'zonewatch', ...args),
      exec: (args) => call('exec', name, ...args),
      async stop() {
        await call('kill', '--signal', 'SIGTERM', name)
        return await ended
      },
      async written() {
        const { stdout } = await call('diff', name)
        return stdout.split('\n').filter((line) => line !== '')
      },
      volume,
      log: async () => (await call('logs', name)).stdout,
    }
  }

  return {
    async inspect() {
      const [{ Config, HealthCheck, Healthcheck = HealthCheck }] = JSON.parse(
        (await call('inspect', '--type', 'image', IMAGE)).stdout,
      )
      return { ...Config, Healthcheck }
    },
    start,
    async remove() {
      for (const name of names) await call('rm', '--force', '--time', '0', name)
      rmSync(storage, { recursive: true, force: true })
    },
  }
}

/** In a container with a read-only root: reports a change, serves the dashboard, runs a command, and stops. */
export async function runMainWorkflow(image: Image): Promise<{ volume: string; architecture: string }> {
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
  const architecture = (await container.exec(['node', '-p', 'process.arch'])).stdout.trim()
  expect(await container.stop()).toBe(0)
  return { volume: container.volume, architecture }
}

export async function givenNetwork() {
  const [dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
  onTestFinished(async () => {
    await Promise.all([dns.close(), receiver.close()])
  })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const {
    DATA_DIR: _,
    DATABASE_URL: __,
    SECRET: ___,
    ...settings
  } = serverSettings({ dns, databaseUrl: '', folder: '' })
  return { dns, receiver, settings: { ...settings, ...ADMIN, HOST: '127.0.0.1' } }
}
