import { simulate } from './simulate.ts'
import type { World } from './world.ts'

/** Removes one part of the world after the other, as long as a fault of the same kind remains. */
export function shrink(world: World): World {
  const kind = simulate(world.seed, { world }).faults[0]?.kind
  const hasSameFault = (candidate: World) =>
    simulate(candidate.seed, { world: candidate }).faults.some((fault) => fault.kind === kind)
  let smallest = world
  for (;;) {
    const smaller = smallerWorlds(smallest).find(hasSameFault)
    if (smaller === undefined) return smallest
    smallest = smaller
  }
}

/** The world without one of its parts, once for each part. */
function smallerWorlds(world: World): World[] {
  const { periods, nameServers, resolvers } = world
  const withoutOne = <T>(list: readonly T[]) => list.map((_, index) => list.toSpliced(index, 1))
  return [
    ...(world.loss > 0 ? [{ ...world, loss: 0 }] : []),
    ...(world.geo === undefined ? [] : [{ ...world, geo: undefined }]),
    ...withoutOne(world.outages).map((outages) => ({ ...world, outages })),
    ...withoutOne(world.captive).map((captive) => ({ ...world, captive })),
    ...withoutOne(world.closed).map((closed) => ({ ...world, closed })),
    ...withoutOne(world.clockSteps).map((clockSteps) => ({ ...world, clockSteps })),
    ...(world.poisoned.length > 0 ? [{ ...world, poisoned: [] }] : []),
    ...withoutOne(periods.slice(1)).map((later) => ({ ...world, periods: [periods[0]!, ...later] })),
    ...(nameServers.length > 1 ? withoutOne(nameServers).map((fewer) => ({ ...world, nameServers: fewer })) : []),
    ...(resolvers.length > 1 ? withoutOne(resolvers).map((fewer) => ({ ...world, resolvers: fewer })) : []),
    ...(world.days > 1 ? [{ ...world, days: world.days - 1 }] : []),
  ]
}
