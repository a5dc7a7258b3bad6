import { Type } from 'typebox'
import { registryDiffersCheck } from '../registration-check.ts'
import { dsOf, nameServersOf } from '../registration-memory.ts'

export const registryNameServersDiffer = registryDiffersCheck({
  code: 'registry_name_servers_differ',
  level: 'warning',
  about:
    'The registry has other name servers for the domain than its servers delegate to, also an hour or more after the look that first saw it.',
  params: { domain: Type.String(), registry: Type.Array(Type.String()), delegated: Type.Array(Type.String()) },
  text: ({ domain, registry, delegated }) =>
    `The registry has the name servers ${registry.join(', ')} for ${domain}, but delegates to ${delegated.join(', ')}.`,
  advice: ({ domain }) => `Ask the registrar of ${domain} which name servers are set, and why they are not published.`,
  since: ({ nameServersDifferSince }) => nameServersDifferSince,
  found: (now) => {
    const [registry, delegated] = nameServersOf(now.facts, now)
    return { domain: now.domain, registry: [...(registry ?? [])], delegated: [...(delegated ?? [])] }
  },
})

export const registryDsDiffers = registryDiffersCheck({
  code: 'registry_ds_differs',
  level: 'warning',
  about:
    'The registry has other DS records for the domain than its servers publish, also an hour or more after the look that first saw it.',
  params: { domain: Type.String(), registry: Type.Array(Type.Integer()), published: Type.Array(Type.Integer()) },
  text: ({ domain, registry, published }) =>
    `The registry has DS records with the key tags ${registry.join(', ')} for ${domain}, but publishes ${published.join(', ') || 'none'}.`,
  advice: ({ domain }) => `Ask the registrar of ${domain} which DS records are set, and why they are not published.`,
  since: ({ dsDifferSince }) => dsDifferSince,
  found: (now) => {
    const [registry, published] = dsOf(now.facts, now)
    return { domain: now.domain, registry: [...(registry ?? [])], published: [...(published ?? [])] }
  },
})
