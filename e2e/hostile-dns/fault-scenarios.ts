import { FAULTS, faultsOf, flagsOf } from './faults.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import { UNUSUAL_RESPONSES } from './raw-responses.ts'
import type { Scenario } from './scenario.ts'

const CHANGED = '198.51.100.7'

const changeEverywhere = (lab: Lab) => lab.set(NAME, 'A', [CHANGED])

/** One or two faulty servers while the others answer correctly: no event. */
export const SINGLE_FAULTS: Scenario[] = [
  ...Object.entries(FAULTS).map(
    ([name, fault]): Scenario => ({
      name: `one recursive server: ${name}`,
      fault: ({ resolvers }) => fault.on(resolvers[0]!),
      becomes: 'VALID',
    }),
  ),
  ...Object.entries(FAULTS).map(
    ([name, fault]): Scenario => ({
      name: `every recursive server: ${name}`,
      fault: ({ resolvers }) => resolvers.forEach(fault.on),
      becomes: 'VALID',
    }),
  ),
  ...Object.entries(FAULTS).map(
    ([name, fault]): Scenario => ({
      name: `one recursive server lies, and one name server of the zone: ${name}`,
      fault: ({ resolvers, ns1 }) => {
        FAULTS['another address']!.on(resolvers[0]!)
        fault.on(ns1)
      },
      becomes: 'VALID',
    }),
  ),
  ...Object.entries(UNUSUAL_RESPONSES).map(
    ([name, odd]): Scenario => ({
      name: `every server: ${name}`,
      fault: ({ allServers }) =>
        allServers.forEach((server) => void server.respond(NAME, (query) => odd(query, flagsOf(server), 'udp'))),
      becomes: 'VALID',
    }),
  ),
  ...faultsOf('lie', 'failure').map(
    ([name, fault]): Scenario => ({
      name: `without roots, one of three recursive servers: ${name}`,
      lab: { roots: false, resolvers: 3 },
      fault: ({ resolvers }) => fault.on(resolvers[0]!),
      becomes: 'VALID',
    }),
  ),
]

/** The record changes while one server is faulty: one event. */
export const CHANGES_WITH_FAULT: Scenario[] = [
  ...Object.entries(FAULTS).map(
    ([name, fault]): Scenario => ({
      name: `a change, and one recursive server: ${name}`,
      fault: (lab) => {
        changeEverywhere(lab)
        fault.on(lab.resolvers[0]!)
      },
      becomes: 'MISMATCH',
      values: [CHANGED],
    }),
  ),
  ...Object.entries(FAULTS).map(
    ([name, fault]): Scenario => ({
      name: `a change, and one name server of the zone: ${name}`,
      fault: (lab) => {
        changeEverywhere(lab)
        fault.on(lab.ns1)
      },
      becomes: 'MISMATCH',
      values: [CHANGED],
    }),
  ),
  {
    name: 'a change while one recursive server still has the old record in its cache',
    fault: (lab) => {
      changeEverywhere(lab)
      lab.resolvers[0]!.set(NAME, 'A', [ADDRESS])
    },
    becomes: 'MISMATCH',
    values: [CHANGED],
  },
  {
    name: 'a removal while one recursive server still has the record in its cache',
    fault: (lab) => {
      lab.remove(NAME, 'A')
      lab.resolvers[1]!.set(NAME, 'A', [ADDRESS])
    },
    becomes: 'NOT_FOUND',
    values: [],
  },
  {
    name: 'a change that only one of two name servers has is not reported',
    fault: (lab) => {
      changeEverywhere(lab)
      lab.ns1.set(NAME, 'A', [ADDRESS])
    },
    becomes: 'VALID',
  },
]
