import { judgeAll } from './judge.ts'
import type { World } from './world/world.ts'

/** Removes one part of the world after the other, as long as a fault of the same kind remains. */
export async function shrink(world: World): Promise<World> {
  const kind = await faultOf(world)
  let smallest = world
  for (;;) {
    let isSmaller = false
    for (const candidate of smallerWorlds(smallest)) {
      if ((await faultOf(candidate)) !== kind) continue
      smallest = candidate
      isSmaller = true
      break
    }
    if (!isSmaller) return smallest
  }
}

async function faultOf(world: World): Promise<string | undefined> {
  try {
    const [report] = await judgeAll([world])
    return report?.faults[0]?.kind
  } catch {
    return undefined // parts that depend on each other
  }
}

/** The world without one of its parts, once for each part. */
function smallerWorlds(world: World): World[] {
  const { changes, resolvers, providers, outages, captive, closed, clockSteps, poisoned } = world
  const withoutOne = <T>(list: readonly T[]) => list.map((_, index) => list.toSpliced(index, 1))
  const quiet = { delaysMs: [0] }
  return [
    ...(world.loss > 0 ? [{ ...world, loss: 0 }] : []),
    ...withoutOne(outages).map((fewer) => ({ ...world, outages: fewer })),
    ...withoutOne(captive).map((fewer) => ({ ...world, captive: fewer })),
    ...withoutOne(closed).map((fewer) => ({ ...world, closed: fewer })),
    ...withoutOne(clockSteps).map((fewer) => ({ ...world, clockSteps: fewer })),
    ...(world.parentExpiry ? [withoutParentExpiry(world)] : []),
    ...(poisoned.length > 0 ? [{ ...world, poisoned: [] }] : []),
    ...withoutOne(changes).map((fewer) => ({ ...world, changes: fewer })),
    ...changes.flatMap((change, index) =>
      withoutOne(change.steps).map((steps) => ({ ...world, changes: changes.with(index, { ...change, steps }) })),
    ),
    ...(resolvers.length > 1 ? withoutOne(resolvers).map((fewer) => ({ ...world, resolvers: fewer })) : []),
    ...resolvers.flatMap((resolver, index) => {
      if (resolver.caches === 1 && !resolver.isPopular) return []
      return [{ ...world, resolvers: resolvers.with(index, { ...resolver, caches: 1, isPopular: false }) }]
    }),
    ...providers.flatMap((servers, provider) =>
      servers.length > 1
        ? withoutOne(servers).map((fewer) => ({ ...world, providers: providers.with(provider, fewer) }))
        : [],
    ),
    ...providers.flatMap((servers, provider) =>
      servers.flatMap((server, index) =>
        JSON.stringify(server) === JSON.stringify(quiet)
          ? []
          : [{ ...world, providers: providers.with(provider, servers.with(index, quiet)) }],
      ),
    ),
    ...(world.parentDelaysMs.some((delay) => delay > 0) ? [{ ...world, parentDelaysMs: [0, 0] }] : []),
    ...(world.days > 1 ? [{ ...world, days: world.days - 1 }] : []),
  ]
}

function withoutParentExpiry({ parentExpiry: _, ...world }: World): World {
  return world
}
