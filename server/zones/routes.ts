import { PageOf } from '#contract/common.ts'
import { UptimeOfMonitors, UptimeQuery } from '#contract/uptime.ts'
import {
  NewZone,
  NewZones,
  Zone,
  ZoneChange,
  ZoneEvent,
  ZoneEventQuery,
  ZoneFinding,
  ZoneFindingQuery,
  ZoneList,
  ZoneQuery,
} from '#contract/zones.ts'
import type { RequestContext } from '../context.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { CsvResponses, sendCsv, UPTIME_CSV_DESCRIPTION, UPTIME_SUM_DESCRIPTION } from '../monitors/uptime-response.ts'
import { sumUptimes } from '../monitors/uptime-store.ts'
import {
  deleteZone,
  getZone,
  getZonesByName,
  insertZone,
  insertZones,
  listFindings,
  listZoneEvents,
  listZones,
  lookNow,
  updateZone,
} from './store.ts'

const params = Params('zone')
const takesIfMatch = { takesIfMatch: true }

/** Zones that are looked at every hour, and what was found. */
export function zoneRoutes({ db, keyring, config, readList }: Deps): Routes {
  return async (app) => {
    tagRoutes(app, 'Zones')
    const list = {
      operationId: 'listZones',
      summary: 'List zones',
      querystring: ZoneQuery,
      response: Responses(200, PageOf(Zone)),
    }
    app.get('/zones', { schema: list }, ({ query, context }) => listZones(db, keyring, context, query))

    const create = {
      operationId: 'createZone',
      summary: 'Add a zone',
      description: 'Zonewatch looks at the zone at once, and then every hour. Returns 409 if the organization has it.',
      body: NewZone,
      response: Responses(201, Zone),
    }
    app.post('/zones', { schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => insertZone(db, context, body, config.plans),
        respond: (db, id) => {
          reply.code(201).header('location', `/zones/${id}`)
          return getZone(db, context, id)
        },
      })
    })

    const createMany = {
      operationId: 'createZonesInBulk',
      summary: 'Add many zones at once',
      description:
        'Adds all zones or none. Zones that the organization has already stay as they are. Returns the zones with these names, in their order.',
      body: NewZones,
      response: Responses(201, ZoneList),
    }
    app.post('/zones/bulk', { schema: createMany }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => insertZones(db, context, body, config.plans),
        respond: (db) => {
          reply.code(201)
          return getZonesByName(db, context, body)
        },
      })
    })

    const read = { operationId: 'getZone', summary: 'Get a zone', params, response: Responses(200, Zone) }
    app.get('/zones/:zone', { schema: read }, ({ params, context }) => getZone(db, context, params.zone))

    const change = {
      operationId: 'updateZone',
      summary: 'Update a zone',
      description:
        'Confirms its name servers, or ignores findings. Fields you leave out keep their values. Zonewatch looks at the zone again at once.',
      params,
      body: ZoneChange,
      response: Responses(200, Zone),
    }
    app.patch('/zones/:zone', { config: takesIfMatch, schema: change }, async ({ params, body, context, match }) => {
      await updateZone(db, context, params.zone, body, match)
      return await getZone(db, context, params.zone)
    })

    const look = {
      operationId: 'checkZone',
      summary: 'Look at a zone now',
      description:
        'The response shows the zone before the look: read it again until `checked` has changed. A finding is confirmed or ended by a second look some minutes later, as always.',
      params,
      response: Responses(202, Zone),
    }
    app.post('/zones/:zone/check', { schema: look }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => lookNow(db, context, params.zone),
        respond: (db) => {
          reply.code(202)
          return getZone(db, context, params.zone)
        },
      })
    })

    const remove = {
      operationId: 'deleteZone',
      summary: 'Delete a zone',
      description: 'Deletes its findings and its history, too. Its monitors stay.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete('/zones/:zone', { config: takesIfMatch, schema: remove }, async ({ params, context, match }, reply) => {
      await deleteZone(db, context, params.zone, match)
      return reply.code(204).send(null)
    })

    const findings = {
      operationId: 'listZoneFindings',
      summary: 'List the findings of a zone',
      description: 'All of them: confirmed, not yet confirmed, and ignored. The most serious first.',
      params,
      querystring: ZoneFindingQuery,
      response: Responses(200, PageOf(ZoneFinding)),
    }
    app.get('/zones/:zone/findings', { schema: findings }, ({ params, query, context }) =>
      listFindings(db, keyring, context, params.zone, query),
    )

    const events = {
      operationId: 'listZoneEvents',
      summary: 'List the events of a zone',
      description: 'Findings that were confirmed, and findings that ended. Kept as long as events of monitors.',
      params,
      querystring: ZoneEventQuery,
      response: Responses(200, PageOf(ZoneEvent)),
    }
    app.get('/zones/:zone/events', { schema: events }, ({ params, query, context }) =>
      listZoneEvents(db, keyring, context, params.zone, query),
    )

    const sumUp = (context: RequestContext, idOrName: string, { days = 90 }: UptimeQuery) =>
      readList(context, async (db) => {
        const { name } = await getZone(db, context, idOrName)
        return await sumUptimes(db, context, { column: 'domain', value: name }, days)
      })
    const uptime = {
      operationId: 'getZoneUptime',
      summary: 'Get the uptime of the monitors of a zone',
      description: `${UPTIME_SUM_DESCRIPTION} A monitor is in the zone that is its \`domain\`.`,
      params,
      querystring: UptimeQuery,
      response: Responses(200, UptimeOfMonitors),
    }
    app.get('/zones/:zone/uptime', { schema: uptime }, ({ params, query, context }) =>
      sumUp(context, params.zone, query),
    )

    const uptimeCsv = {
      operationId: 'exportZoneUptime',
      summary: 'Export the uptime of the monitors of a zone as CSV',
      description: UPTIME_CSV_DESCRIPTION,
      params,
      querystring: UptimeQuery,
      response: CsvResponses,
    }
    app.get('/zones/:zone/uptime.csv', { schema: uptimeCsv }, async ({ params, query, context }, reply) =>
      sendCsv(reply, await sumUp(context, params.zone, query)),
    )
  }
}
