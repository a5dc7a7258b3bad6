import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../config/config.ts'
import { DENIED_PORTS } from '../safe-http/address-policy.ts'

const CERTIFICATE = fileURLToPath(new URL('../testing/fixtures/receiver.cert.pem', import.meta.url))

test('the defaults are no proxy, no additional certificate authorities, the usual ports denied, and 8 and 200 concurrent requests', () => {
  expect(readConfig({})).toMatchObject({
    webhookProxy: null,
    webhookAuthorities: null,
    webhookDeniedPorts: DENIED_PORTS,
    webhookConcurrency: 8,
    deliveryConcurrency: 200,
  })
})

test('every setting is read', () => {
  const config = readConfig({
    WEBHOOK_PROXY: 'http://user:password@proxy.example:3128',
    WEBHOOK_CA_FILE: CERTIFICATE,
    WEBHOOK_DENIED_PORTS: '22, 8080',
    WEBHOOK_CONCURRENCY: '1',
    DELIVERY_CONCURRENCY: '50',
  })

  expect(config.webhookProxy?.host).toBe('proxy.example:3128')
  expect(config.webhookAuthorities).toMatch(/^-----BEGIN CERTIFICATE-----/)
  expect(config).toMatchObject({ webhookDeniedPorts: [22, 8080], webhookConcurrency: 1, deliveryConcurrency: 50 })
  expect(readConfig({ WEBHOOK_DENIED_PORTS: 'off' }).webhookDeniedPorts).toEqual([])
})

test('the password of the proxy is not printed', () => {
  const { lines } = readConfig({ WEBHOOK_PROXY: 'http://user:hush@proxy.example:3128' })

  expect(JSON.stringify(lines)).not.toContain('hush')
})

test('invalid settings are refused with the reason', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const broken = join(folder, 'broken.pem')
  await writeFile(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')

  const read = (settings: Record<string, string>) => () => readConfig(settings)
  expect(read({ WEBHOOK_CA_FILE: join(folder, 'none.pem') })).toThrow(
    /WEBHOOK_CA_FILE names a file that cannot be read/,
  )
  expect(read({ WEBHOOK_CA_FILE: broken })).toThrow(/names a file without PEM certificates/)
  expect(read({ WEBHOOK_PROXY: 'socks5://proxy.example' })).toThrow(/WEBHOOK_PROXY must be an address like/)
  expect(read({ WEBHOOK_DENIED_PORTS: '22,http' })).toThrow(/WEBHOOK_DENIED_PORTS must be a whole number/)
  expect(read({ WEBHOOK_CONCURRENCY: '0' })).toThrow(/WEBHOOK_CONCURRENCY must be a whole number from 1/)
})
