import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Engine } from '#server/database/engine.ts'
import { givenApp } from '#server/testing/test-app.ts'
import { requestOf, text } from './arbitraries.ts'
import { givenFixtures } from './fixtures.ts'
import { matches, readDocument } from './openapi-document.ts'

const RUNS: [Engine, number][] = [
  ['sqlite', 1_500],
  ['postgres', 250],
]
const FOREIGN = 'Zqforeignqz'
/** Longer than any request, even on a busy machine. */
const HANGS_MS = 15_000

test.each(RUNS)(
  'no input makes the API fail, hang or disclose data of other organizations (%s)',
  async (engine, numRuns) => {
    const world = await givenApp(engine)
    const { operations, validate } = await readDocument(world)
    const foreign = await givenFixtures(world, FOREIGN)
    const own = await givenFixtures(world, 'Own')
    const secrets = [FOREIGN.toLowerCase(), ...Object.values(foreign.ids)]
    const disclosed = new Set<string>()
    const ids = fc.oneof(fc.constantFrom(...Object.values(foreign.ids), ...Object.values(own.ids)), text)

    const property = fc.asyncProperty(requestOf(operations, own.ids, ids), async ({ method, path, headers, body }) => {
      const answer = await Promise.race([
        world.call(path, { method, key: own.key, headers, ...body }),
        new Promise<never>((_, reject) => setTimeout(reject, HANGS_MS, new Error('hangs')).unref()),
      ])
      if (answer.status >= 500) throw new Error(`${answer.status} ${world.logged.at(-1)}`)
      // An id with a slash or an empty id leads to another route.
      const met = operations.filter(
        (each) => each.method === method && matches(each.path, path.replace(/\/(?=\?|$)/, '')),
      )
      const found = answer.status >= 400 ? [validate(null, answer)] : met.map((each) => validate(each, answer))
      if (!found.some((problems) => problems.length === 0)) throw new Error(JSON.stringify([answer.status, found]))
      // A response may contain texts that were sent, but no others of another organization.
      const said = `${decodeURIComponent(path.replaceAll('%ED%A0%80', ''))}${JSON.stringify(body)}`
      for (const secret of secrets) if (said.includes(secret)) disclosed.add(secret)
      expect(secrets.filter((secret) => answer.text.includes(secret) && !disclosed.has(secret))).toEqual([])
    })
    const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
    console.info(`fuzz (${engine}): FUZZ_SEED=${seed}`)
    await fc.assert(property, { numRuns, seed, endOnFailure: true })
  },
  180_000,
)
