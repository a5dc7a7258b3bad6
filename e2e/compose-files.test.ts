import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { PROJECT } from '#server/testing/server-process.ts'

/** The fields of the Compose specification that our files use. An unknown field is new or misspelt. */
const closedObject = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Partial(Type.Object(fields), { additionalProperties: false })
const Name = '^[a-zA-Z0-9._-]+$'
const Duration = Type.String({ pattern: String.raw`^(\d+(ns|us|ms|s|m|h))+$` })
/** `[address:]published:container[/protocol]`. Unquoted, 80:80 is a base 60 number in YAML 1.1. */
const Port = Type.String({ pattern: String.raw`^([\d.]+:)?\d+:\d+(/(tcp|udp))?$` })
const Mount = Type.String({ pattern: String.raw`^(\./[\w./-]+|[a-z]+):/[\w./-]+(:ro)?$` })
const Service = closedObject({
  image: Type.String(),
  build: Type.String(),
  command: Type.Array(Type.String()),
  restart: Type.Enum(['no', 'always', 'on-failure', 'unless-stopped']),
  environment: Type.Record(Type.String(), Type.String()),
  depends_on: Type.Record(
    Type.String({ pattern: Name }),
    closedObject({ condition: Type.Enum(['service_started', 'service_healthy', 'service_completed_successfully']) }),
  ),
  ports: Type.Array(Port, { uniqueItems: true }),
  volumes: Type.Array(Mount, { uniqueItems: true }),
  networks: Type.Array(Type.String(), { uniqueItems: true }),
  read_only: Type.Boolean(),
  cap_drop: Type.Array(Type.String(), { uniqueItems: true }),
  security_opt: Type.Array(Type.String(), { uniqueItems: true }),
  stop_grace_period: Duration,
  healthcheck: closedObject({
    test: Type.Array(Type.String()),
    interval: Duration,
    timeout: Duration,
    retries: Type.Integer(),
  }),
})
const Network = closedObject({ ipam: closedObject({ config: Type.Array(closedObject({ subnet: Type.String() })) }) })
const File = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]*$' }),
    services: Type.Record(Type.String({ pattern: Name }), Service),
    networks: Type.Optional(Type.Record(Type.String({ pattern: Name }), Network)),
    volumes: Type.Optional(Type.Record(Type.String({ pattern: Name }), Type.Null())),
    'x-node': Type.Optional(Service),
  },
  { additionalProperties: false },
)

type Service = {
  image: string
  build?: string
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  networks?: string[]
  healthcheck?: object
  ports?: string[]
  environment: Record<string, string>
}
type ComposeFile = { services: Record<string, Service>; networks?: object; volumes?: object }

const textOf = (path: string) => readFileSync(join(PROJECT, path), 'utf8')

test.each(['deploy/compose.yaml', 'deploy/compose.postgres.yaml'])(
  '%s matches the Compose specification, the image and its own references',
  (path) => {
    // Docker reads YAML 1.1, in which fewer values are text.
    const document = parseDocument(textOf(path), { strict: true, version: '1.1', merge: true })
    expect([document.errors, document.warnings]).toEqual([[], []])
    const file = document.toJS() as ComposeFile
    const ajv = new Ajv({ allErrors: true, strict: false })
    const isValid = ajv.compile(File)
    isValid(file)
    expect(isValid.errors ?? []).toEqual([])

    const dockerfile = textOf('Dockerfile')
    const [, volume] = /^VOLUME (\S+)$/m.exec(dockerfile)!
    const [, exposed] = /^EXPOSE (\d+)$/m.exec(dockerfile)!
    for (const [name, service] of Object.entries(file.services)) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect([name, other in file.services]).toEqual([name, true])
        if (condition === 'service_healthy') expect(file.services[other]!.healthcheck, other).toBeDefined()
      }
      expect(service.networks?.filter((network) => !(network in (file.networks ?? {}))) ?? []).toEqual([])
      for (const [source] of (service.volumes ?? []).map((mount) => mount.split(':'))) {
        if (source!.startsWith('./')) expect(existsSync(join(PROJECT, 'deploy', source!)), source).toBe(true)
        else expect(Object.keys(file.volumes ?? {})).toContain(source)
      }
      if (service.build === undefined) continue
      expect(existsSync(join(PROJECT, 'deploy', service.build, 'Dockerfile'))).toBe(true)
      // The root file system is read-only. Only a node on SQLite has a volume, the one of the image.
      const mounts = service.volumes ?? []
      expect(mounts.map((mount) => mount.split(':')[1])).toEqual(service.environment.DATABASE_URL ? [] : [volume])
      // Metrics need no key, so only this machine can reach them.
      const { METRICS_PORT } = service.environment
      const published = (service.ports ?? []).map((port) => port.split(':').at(-1))
      expect(published.filter((port) => port !== exposed)).toEqual([METRICS_PORT])
      expect(service.ports!.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
    }
    const publishedPorts = Object.values(file.services)
      .flatMap(({ ports = [] }) => ports)
      .map((port) => port.replace(/^127\.0\.0\.1:|:\d+(?=$|\/)/g, ''))
    expect(publishedPorts).toEqual([...new Set(publishedPorts)])
    // Each required variable has an error message, and the comment at the top names it.
    const [comment] = textOf(path).split('\nname:')
    for (const [, name] of textOf(path).matchAll(/\$\{(\w+):\?[\w ]+\}/g)) expect(comment).toContain(`${name}=`)
    const [, subnet] = /subnet: (\S+)/.exec(textOf(path)) ?? []
    for (const { environment } of Object.values(file.services)) {
      if (environment.TRUSTED_PROXIES) expect(environment.TRUSTED_PROXIES).toBe(subnet)
    }
  },
)
