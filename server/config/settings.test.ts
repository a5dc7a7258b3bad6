import { expect, test } from 'vitest'
import { InvalidConfig, readConfig } from './config.ts'

const errorsOf = (settings: Record<string, string>) => {
  try {
    readConfig(settings)
    return {}
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error
    return error.errors
  }
}

test.each([
  [{ TRUSTED_PROXIES: '0.0.0.0/0' }, 'TRUSTED_PROXIES', 'every client could choose the address'],
  [{ TRUSTED_PROXIES: '10.0.0.0/8, ::/0' }, 'TRUSTED_PROXIES', '"::/0"'],
  [{ DATA_DIR: '/proc/1/zonewatch' }, 'DATA_DIR', 'on a disk, not "/proc/1/zonewatch"'],
  [{ DATA_DIR: '/sys' }, 'DATA_DIR', 'on a disk'],
  [{ PORT: '0' }, 'PORT', 'from 1 to 65535, not "0"'],
  [{ METRICS_PORT: '0' }, 'METRICS_PORT', 'from 1 to 65535, not "0"'],
  [{ PORT: '9464', METRICS_PORT: '9464' }, 'METRICS_PORT', 'is the port of the API'],
  [{ PORT: '9464', METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' }, 'METRICS_PORT', 'is the port of the API'],
  [{ BASE_URL: 'https://example.com/zonewatch' }, 'BASE_URL', 'without a path'],
  [{ BASE_URL: 'https://example.com/?a=b' }, 'BASE_URL', 'without a path'],
])('%o is refused with one sentence about %s', (settings, name, sentence) => {
  expect(errorsOf(settings)).toEqual({ [name]: expect.stringContaining(sentence) })
})

test.each([
  { TRUSTED_PROXIES: '10.0.0.0/8, fc00::/7, 192.0.2.1' },
  { DATA_DIR: '/processes' },
  { PORT: '9464', METRICS_PORT: '9464', HOST: '127.0.0.1', METRICS_HOST: '127.0.0.2' },
  { PORT: '9464', METRICS_PORT: '9464', ROLES: 'checker,delivery' },
  { BASE_URL: 'https://example.com/' },
])('%o is accepted', (settings) => {
  expect(errorsOf(settings)).toEqual({})
})

test('a mistyped name of a setting is named with the nearest known one, and other variables are not', () => {
  const { unknownSettings } = readConfig({
    DATBASE_URL: 'postgres://db.example/zonewatch',
    READ_LIMT: '100',
    SECERT_FILE: '/run/secrets/zonewatch',
    ROELS: 'api',
    READ_LIMIT: '10',
    METRICS_TOKEN_FILE: '',
    HOME: '/root',
    HOSTNAME: 'node-1',
    PATH: '/bin',
    LANG: 'C',
    NODE_ENV: 'production',
    ZONEWATCH_PORT: 'tcp://192.0.2.1:80',
  })
  expect(unknownSettings).toEqual([
    { name: 'DATBASE_URL', nearest: 'DATABASE_URL' },
    { name: 'READ_LIMT', nearest: 'READ_LIMIT' },
    { name: 'SECERT_FILE', nearest: 'SECRET_FILE' },
    { name: 'ROELS', nearest: 'ROLES' },
  ])
})
