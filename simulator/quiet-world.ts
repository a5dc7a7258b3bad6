import { drawWorld } from './world/draw.ts'
import { DAY, HOUR, type Publication, type World } from './world/world.ts'

/** What a provider publishes: these values. */
export function published(values: readonly string[], ns: readonly number[] = [0]): Publication {
  return { ns, content: 'records', members: values.map((value) => ({ value, weight: 1 })), size: values.length }
}

/** One address, two providers with two name servers each, two resolvers, an interval of 30 minutes, and no faults. */
export function quietWorld(changes: Partial<World> = {}): World {
  const resolver = { model: 'unbound', caches: 1, isPopular: false, isLocal: false, region: '', status: 'ok' as const }
  const servers = [{ delaysMs: [0] }, { delaysMs: [0] }]
  return {
    ...drawWorld(1),
    seed: 1,
    days: 3,
    frequency: 30,
    slot: 0,
    recordType: 'A',
    isExactMatch: true,
    expected: ['203.0.113.1'],
    ttl: 300,
    negativeTtl: 300,
    delegationTtl: 86_400,
    nsTtl: 86_400,
    parentDelaysMs: [0, 0],
    providers: [servers, servers, servers],
    isVanity: false,
    delegation: [0],
    ds: [],
    publications: [published(['203.0.113.1']), published(['203.0.113.1'], [1]), published(['203.0.113.1'], [2])],
    changes: [],
    resolvers: [resolver, resolver],
    roots: true,
    canaries: true,
    loss: 0,
    outages: [],
    captive: [],
    closed: [],
    poisoned: [],
    clockSteps: [],
    truncates: false,
    resolution: 'auto',
    ...changes,
  }
}

/** When the changes of the tests happen. */
export const NOON = DAY + 12 * HOUR
