import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import ipaddr from 'ipaddr.js'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { PROJECT } from '#server/testing/server-process.ts'

type Labels = Record<string, string>
type Container = {
  resources: { limits?: { memory?: string }; requests?: { cpu?: string; memory?: string } }
  ports: { name: string; containerPort: number }[]
}
type Deployment = {
  kind: 'Deployment'
  metadata: { name: string }
  spec: { template: { metadata: { labels: Labels }; spec: { containers: Container[] } } }
}
type Block = { cidr: string; except?: string[] }
type Port = { protocol: 'TCP' | 'UDP'; port: string | number; endPort?: number }
type Rule = { to?: { ipBlock: Block }[]; ports: Port[] }
type Policy = {
  kind: 'NetworkPolicy'
  metadata: { name: string }
  spec: { podSelector: { matchLabels: Labels }; policyTypes: string[]; ingress?: Rule[]; egress?: Rule[] }
}

const manifests = parseAllDocuments(readFileSync(`${PROJECT}deploy/kubernetes/zonewatch.yaml`, 'utf8')).map((each) =>
  each.toJS({ maxAliasCount: 0 }),
)
const deployments = manifests.filter(({ kind }) => kind === 'Deployment') as Deployment[]
const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy') as Policy[]

/** The fields of networking.k8s.io/v1 that our policies use. An unknown field is new or misspelt. */
const closedObject = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Object(fields, { additionalProperties: false })
const PortSchema = closedObject({
  protocol: Type.Enum(['TCP', 'UDP']),
  port: Type.Union([Type.String({ pattern: '^[a-z0-9-]{1,15}$' }), Type.Integer({ minimum: 1, maximum: 65_535 })]),
  endPort: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
})
const Cidr = Type.String({ pattern: '^[0-9a-f.:]+/[0-9]+$' })
const Peer = closedObject({ ipBlock: closedObject({ cidr: Cidr, except: Type.Optional(Type.Array(Cidr)) }) })
const RuleSchema = closedObject({ to: Type.Optional(Type.Array(Peer)), ports: Type.Array(PortSchema, { minItems: 1 }) })
const PolicySchema = closedObject({
  apiVersion: Type.Literal('networking.k8s.io/v1'),
  kind: Type.Literal('NetworkPolicy'),
  metadata: closedObject({ name: Type.String() }),
  spec: closedObject({
    podSelector: closedObject({ matchLabels: Type.Record(Type.String(), Type.String()) }),
    policyTypes: Type.Array(Type.Enum(['Ingress', 'Egress']), { minItems: 1 }),
    ingress: Type.Optional(Type.Array(RuleSchema)),
    egress: Type.Optional(Type.Array(RuleSchema)),
  }),
})

test('each container has a limit of memory and requests of memory and CPU', () => {
  expect(deployments).toHaveLength(2)
  for (const { spec } of deployments) {
    for (const { resources } of spec.template.spec.containers) {
      expect(resources).toMatchObject({
        limits: { memory: expect.stringMatching(/^\d+[MG]i$/) },
        requests: { memory: expect.stringMatching(/^\d+[MG]i$/), cpu: expect.stringMatching(/^\d+m$/) },
      })
    }
  }
})

test('network policies have only known fields', () => {
  const ajv = new Ajv({ strict: false })
  for (const policy of policies) {
    ajv.validate(PolicySchema, policy)
    expect([policy.metadata.name, ajv.errors]).toEqual([policy.metadata.name, null])
  }
})

test('each pod accepts only connections to its own ports, and has a policy for what it may reach', () => {
  for (const { metadata, spec } of deployments) {
    const { labels } = spec.template.metadata
    const own = policies.filter(({ spec: { podSelector } }) =>
      Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value),
    )
    const types = own.flatMap((policy) => policy.spec.policyTypes)
    expect([metadata.name, new Set(types)]).toEqual([metadata.name, new Set(['Ingress', 'Egress'])])
    const open = own.flatMap((policy) =>
      (policy.spec.ingress ?? []).flatMap(({ ports }) => ports.map(({ port }) => port)),
    )
    const ports = spec.template.spec.containers.flatMap((container) => container.ports.map(({ name }) => name))
    expect([metadata.name, open]).toEqual([metadata.name, ports])
  }
})

test.each<[string, number, 'TCP' | 'UDP', boolean]>([
  ['198.41.0.4', 53, 'UDP', true],
  ['10.96.0.10', 53, 'TCP', true],
  ['10.0.3.4', 5432, 'TCP', true],
  ['203.0.113.9', 443, 'TCP', true],
  ['203.0.113.9', 8443, 'TCP', true],
  ['2001:db8::1', 443, 'TCP', true],
  ['169.254.169.254', 80, 'TCP', false],
  ['10.96.0.1', 443, 'TCP', false],
  ['192.168.1.1', 80, 'TCP', false],
  ['fd00::1', 443, 'TCP', false],
  ['fe80::1', 80, 'TCP', false],
  ['203.0.113.9', 123, 'UDP', false],
])('a pod may reach %s port %d over %s: %s', (address, port, protocol, isAllowed) => {
  const rules = policies.flatMap(({ spec }) => spec.egress ?? [])
  expect(
    rules.some(
      ({ to, ports }) =>
        ports.some(
          (each) =>
            each.protocol === protocol && port >= Number(each.port) && port <= (each.endPort ?? Number(each.port)),
        ) &&
        (to === undefined ||
          to.some(
            ({ ipBlock }) => isIn(address, ipBlock.cidr) && !ipBlock.except?.some((each) => isIn(address, each)),
          )),
    ),
  ).toBe(isAllowed)
})

function isIn(address: string, cidr: string): boolean {
  const parsed = ipaddr.parse(address)
  const [network, bits] = ipaddr.parseCIDR(cidr)
  return parsed.kind() === network.kind() && parsed.match(network, bits)
}
