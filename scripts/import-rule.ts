/** Modules that every part may import, and that import no part themselves. */
const GROUND = [
  'clock',
  'context',
  'problem',
  'cli-error',
  'loop-health',
  'ids',
  'keyring',
  'plan',
  'plan-schema',
  'project-folder',
  'yield',
  'times',
  'text',
  'retry-schedule',
  'contract',
  'metrics',
]

/**
 * Imports run one way: what each part of the server may import beside itself and the ground. A part is a folder or a file, or a folder
 * or a file in a folder that has a line of its own.
 */
const PARTS: Record<string, readonly string[]> = {
  main: ['cli'],
  cli: [
    'as-code',
    'app',
    'incidents',
    'waits/quick-checks',
    'supervisor',
    'backup',
    'copy',
    'deletion',
    'operations',
    'doctor',
    'secrets',
    'safe-http',
    'deps',
    'checks',
    'zones',
    'registrations',
    'alerts',
    'jobs',
    'planned-changes',
    'events',
    'webhooks',
    'monitors',
    'record-types',
    'organization',
    'accounts',
    'mail',
    'http',
    'queue',
    'database',
    'dns',
    'config',
    'log',
  ],
  'as-code': ['monitors/import', 'monitors', 'alerts', 'webhooks', 'record-types', 'organization', 'http', 'dns'],
  supervisor: ['queue', 'config'],
  backup: ['queue', 'database'],
  copy: ['queue', 'database'],
  deletion: ['audit-log', 'organization', 'webhooks', 'monitors', 'mail', 'deps', 'http', 'database'],
  app: [
    'deps',
    'incidents',
    'waits/pages',
    'zones',
    'deletion',
    'live',
    'overview',
    'monitors/import',
    'jobs',
    'planned-changes',
    'alerts',
    'events',
    'views',
    'webhooks',
    'monitors',
    'groups',
    'organization',
    'accounts',
    'operations',
    'http',
    'queue',
  ],
  secrets: ['waits', 'accounts', 'alerts', 'http', 'monitors', 'webhooks', 'queue', 'database'],
  'waits/pages': ['waits', 'monitors', 'deps', 'http', 'database'],
  'waits/quick-checks': ['checks', 'events', 'monitors', 'waits', 'record-types', 'queue', 'database', 'dns'],
  waits: ['alerts', 'audit-log', 'queue', 'database'],
  incidents: [
    'incidents/memberships',
    'incidents/timeline',
    'alerts',
    'monitors',
    'waits',
    'audit-log',
    'groups',
    'mail',
    'config',
    'deps',
    'http',
    'queue',
    'database',
  ],
  'incidents/memberships': ['database'],
  'incidents/timeline': ['database'],
  doctor: ['backup', 'config', 'mail', 'safe-http', 'http', 'queue', 'database', 'dns'],
  overview: ['http', 'incidents', 'events', 'monitors', 'deps', 'queue', 'database'],
  live: ['http', 'queue', 'database'],
  'monitors/import': [
    'dns',
    'checks',
    'monitors',
    'record-types',
    'groups',
    'organization',
    'deps',
    'http',
    'database',
  ],
  jobs: [
    'live',
    'audit-log',
    'webhooks',
    'monitors',
    'planned-changes',
    'groups',
    'organization',
    'config',
    'deps',
    'http',
    'queue',
    'database',
  ],
  checks: [
    'incidents',
    'waits',
    'audit-log',
    'planned-changes',
    'alerts',
    'events',
    'webhooks',
    'monitors',
    'record-types',
    'queue',
    'database',
    'dns',
  ],
  registrations: ['safe-http', 'queue', 'database', 'dns'],
  zones: [
    'registrations',
    'audit-log',
    'alerts',
    'webhooks',
    'monitors',
    'record-types',
    'organization',
    'deps',
    'http',
    'queue',
    'database',
    'dns',
  ],
  views: ['audit-log', 'monitors', 'deps', 'http', 'database'],
  'planned-changes': [
    'incidents/memberships',
    'incidents/timeline',
    'audit-log',
    'monitors',
    'record-types',
    'deps',
    'http',
    'database',
  ],
  events: ['audit-log', 'webhooks', 'monitors', 'groups', 'organization', 'deps', 'http', 'database'],
  webhooks: ['audit-log', 'groups', 'organization', 'mail', 'deps', 'safe-http', 'http', 'queue', 'database', 'dns'],
  monitors: ['waits', 'audit-log', 'record-types', 'groups', 'organization', 'deps', 'http', 'database', 'dns'],
  organization: ['audit-log', 'groups', 'mail', 'deps', 'http', 'database'],
  groups: ['audit-log', 'deps', 'http', 'database'],
  alerts: [
    'incidents/memberships',
    'incidents/timeline',
    'audit-log',
    'webhooks',
    'groups',
    'organization',
    'config',
    'mail',
    'deps',
    'safe-http',
    'http',
    'queue',
    'database',
  ],
  accounts: ['alerts', 'audit-log', 'config', 'organization', 'groups', 'mail', 'deps', 'http', 'database'],
  'audit-log': ['http', 'database'],
  operations: ['config', 'backup', 'accounts', 'deps', 'http', 'queue', 'database'],
  http: ['deps', 'database'],
  deps: ['config', 'safe-http', 'queue', 'database', 'record-types', 'dns', 'mail'],
  mail: ['config', 'queue', 'database'],
  log: ['config'],
  config: ['safe-http', 'dns'],
  'safe-http': ['dns'],
  queue: ['database'],
  database: ['database/engine'],
  'database/engine': [],
  'record-types': ['dns'],
  dns: [],
}

/** These look at the whole server from outside. */
const FROM_OUTSIDE = ['scripts', 'e2e', 'bench']

/**
 * The simulator judges the product, so it shares nothing with it but what it judges: the rules of a check, the loop that sends their
 * queries, and the resolver that follows delegations. Its world (`simulator/dns/`, `simulator/world/`) imports nothing of the product.
 */
const JUDGED = [
  'server/checks/check-state.ts',
  'server/checks/reasons.ts',
  'server/checks/rule-mutants.ts',
  'server/checks/run-check.ts',
  'server/checks/verdict.ts',
  'server/clock.ts',
  'server/dns/client.ts',
  'server/dns/dnssec-validator.ts',
  'server/dns/network-check.ts',
  'server/dns/outcome.ts',
  'server/dns/resolver/authoritative-client.ts',
  'server/dns/transport.ts',
  'server/record-types/record-types.ts',
]

/** Why some imports are refused, where the sentence can be better than "it comes after". */
const REASONS: Record<string, string> = {
  app: 'only cli/serve.ts puts the server together',
  main: 'it is the command line, where everything ends',
  cli: 'only main.ts starts commands',
  testing: 'it is for tests and the demonstration',
  'database/engine': 'only database/ knows which engine it is, and dialect.ts has words for the differences',
}

export type Import = { from: string; to: string }

/** One sentence for each import that runs the wrong way. Paths from the repository's root, with `/`. */
export function wrongImports(imports: readonly Import[]): string[] {
  return imports.flatMap(({ from, to }) => {
    const reason = refusalOf(from, to)
    return reason === undefined ? [] : [`${from} must not import ${to}: ${reason}; see ARCHITECTURE.md.`]
  })
}

/** Why `from` must not import `to`; undefined where it may. */
export function refusalOf(from: string, to: string): string | undefined {
  if (isTest(from)) return undefined
  const [fromTop, toTop] = [topOf(from), topOf(to)]
  // It is a client of the API.
  if (toTop === 'client' && partOf(from) === 'as-code') return undefined
  if (fromTop !== toTop && toTop !== 'contract') {
    if (FROM_OUTSIDE.includes(fromTop)) return undefined
    if (fromTop === 'simulator') return refusalOfJudge(from, to)
    return `${fromTop}/ may import nothing of ${toTop}/`
  }
  if (fromTop !== 'server') return undefined
  const [part, other] = [partOf(from), partOf(to)]
  if (isRoutes(to) && from !== 'server/app.ts' && !(part === other && [from, to].every(isPartOfRoutes)))
    return 'only app.ts mounts routes'
  if (/[/-]routes\.ts$/.test(from) && other === 'database') {
    return 'routes call the store, and the store the database'
  }
  if (part === other || GROUND.includes(other)) return undefined
  const allowed = GROUND.includes(part) ? [] : PARTS[part]
  if (!allowed) return `${part} is not in the table of scripts/import-rule.ts; say there what it may import`
  if (allowed.includes(other)) return undefined
  if (PARTS[other]?.includes(part)) return `${other} builds on ${part}, not the other way round`
  return REASONS[other] ?? `${part} may import only ${['the ground', ...allowed].join(', ')}`
}

function refusalOfJudge(from: string, to: string): string | undefined {
  if (/^simulator\/(?:dns|world)\//.test(from)) return 'the world of the simulator shares nothing with the product'
  return JUDGED.includes(to) ? undefined : 'the simulator imports only what it judges'
}

/** The files of ours that a source text imports: relative ones and `#contract/…`, `#server/…`. */
export function importsOf(path: string, source: string): Import[] {
  const found = source.matchAll(/(?:\bfrom|\bimport\s*\(|^import)\s*['"]([^'"]+\.tsx?)['"]/gm)
  return [...found].flatMap(([, name]) => {
    const to = resolveName(path, name!)
    return to === undefined ? [] : [{ from: path, to }]
  })
}

export function resolveName(path: string, name: string): string | undefined {
  if (name.startsWith('#')) return name.slice(1)
  if (!name.startsWith('.')) return undefined
  return new URL(name, `file:///${path}`).pathname.slice(1)
}

/** `server/http/routes.ts` is for all routes. */
const isRoutes = (path: string) => /[/-]routes\.ts$/.test(path) && path !== 'server/http/routes.ts'
/** One of several files with the routes of a folder, such as `account-routes.ts`. */
const isPartOfRoutes = (path: string) => /-routes\.ts$/.test(path)
const topOf = (path: string) => path.split('/')[0]!
const isTest = (path: string) => path.endsWith('.test.ts') || path.startsWith('server/testing/')

/** The folder of a file below server/, or the name of a file beside the folders. */
function partOf(path: string): string {
  if (!path.startsWith('server/')) return topOf(path)
  const [, folder, inner] = path.split('/')
  const nested = `${folder}/${inner?.replace(/\.ts$/, '')}`
  return nested in PARTS ? nested : folder!.replace(/\.ts$/, '')
}
