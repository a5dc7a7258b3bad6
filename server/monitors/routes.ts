import { Type } from 'typebox'
import { PageOf } from '#contract/common.ts'
import { INCLUDES, Include, MonitorAnswer, MonitorQuery, NewMonitor } from '#contract/monitors.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { invalid } from '../problem.ts'
import { type Inclusion, parseMonitor, toMonitor } from './monitor.ts'
import { checkSoon, deleteMonitor, getMonitor, insertMonitors, listMonitors } from './store.ts'

const OneQuery = Type.Object({ include: Include }, { additionalProperties: false })

export function monitorRoutes({ db, clock, seal }: Doors): Routes {
  return async (app) => {
    const one = { params: Params('monitor'), querystring: OneQuery }

    app.get(
      '/monitors',
      { schema: { querystring: MonitorQuery, response: Answers(200, PageOf(MonitorAnswer)) } },
      async ({ query: { include, ...query }, caller }) => {
        const included = parseInclude(include)
        const page = await listMonitors(db, seal, caller.organizationId, query)
        return { ...page, data: page.data.map((row) => toMonitor(row, included)) }
      },
    )

    app.post(
      '/monitors',
      { schema: { querystring: OneQuery, body: NewMonitor, response: Answers(201, MonitorAnswer) } },
      async ({ body, query, caller }, reply) => {
        const included = parseInclude(query.include)
        const parsed = parseMonitor(body)
        if (!parsed.ok) throw invalid(parsed.errors)
        const [id] = await insertMonitors(db, caller.organizationId, [parsed.draft], clock.now())
        reply.code(201).header('location', `/monitors/${id}`)
        return toMonitor(await getMonitor(db, caller.organizationId, id!), included)
      },
    )

    app.get(
      '/monitors/:monitor',
      { schema: { ...one, response: Answers(200, MonitorAnswer) } },
      async ({ params, query, caller }) => {
        const included = parseInclude(query.include)
        return toMonitor(await getMonitor(db, caller.organizationId, params.monitor), included)
      },
    )

    app.delete(
      '/monitors/:monitor',
      { schema: { ...one, response: Answers(204, NoContent) } },
      async ({ params, caller }, reply) => {
        await deleteMonitor(db, caller.organizationId, params.monitor)
        return reply.code(204).send(null)
      },
    )

    app.post(
      '/monitors/:monitor/check',
      { schema: { ...one, response: Answers(202, MonitorAnswer) } },
      async ({ params, query, caller }, reply) => {
        const included = parseInclude(query.include)
        const monitor = await checkSoon(db, caller.organizationId, params.monitor, clock.now())
        reply.code(202)
        return toMonitor(monitor, included)
      },
    )
  }
}

function parseInclude(text: string | undefined): Inclusion {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.some((name) => !INCLUDES.some((known) => known === name))) {
    throw invalid({ include: `must be a comma separated list of ${INCLUDES.join(', ')}.` })
  }
  return {
    frequency: names.includes('frequency'),
    group: names.includes('group'),
    diagnosis: names.includes('diagnosis'),
  }
}
