import { simulate } from './simulate.ts'
import type { World } from './world.ts'

/** A smaller world with a fault of the same kind: whatever can be left out is left out, one thing after the other. */
export function shrink(world: World): World {
  const kind = simulate(world.seed, { world }).faults[0]?.kind
  const isStillWrong = (candidate: World) =>
    simulate(candidate.seed, { world: candidate }).faults.some((fault) => fault.kind === kind)
  let smallest = world
  for (let isSmaller = true; isSmaller; ) {
    const found = smallerThan(smallest).find(isStillWrong)
    isSmaller = found !== undefined
    smallest = found ?? smallest
  }
  return smallest
}

function smallerThan(world: World): World[] {
  const { periods, nameServers, resolvers } = world
  const without = <T>(list: readonly T[]) => list.map((_, at) => list.filter((__, place) => place !== at))
  return [
    ...(world.loss > 0 ? [{ ...world, loss: 0 }] : []),
    ...(world.geo === undefined ? [] : [{ ...world, geo: undefined }]),
    ...without(world.outages).map((outages) => ({ ...world, outages })),
    ...without(world.captive).map((captive) => ({ ...world, captive })),
    ...without(world.closed).map((closed) => ({ ...world, closed })),
    ...without(world.clockSteps).map((clockSteps) => ({ ...world, clockSteps })),
    ...(world.poisoned.length > 0 ? [{ ...world, poisoned: [] }] : []),
    ...without(periods.slice(1)).map((later) => ({ ...world, periods: [periods[0]!, ...later] })),
    ...(nameServers.length > 1 ? without(nameServers).map((fewer) => ({ ...world, nameServers: fewer })) : []),
    ...(resolvers.length > 1 ? without(resolvers).map((fewer) => ({ ...world, resolvers: fewer })) : []),
    ...(world.days > 1 ? [{ ...world, days: world.days - 1 }] : []),
  ]
}
