import { PageOf } from '#contract/common.ts'
import {
  Alert,
  AlertInFull,
  AlertQuery,
  Incident,
  IncidentAcknowledgements,
  IncidentChange,
  IncidentEntry,
  IncidentEntryQuery,
  IncidentQuery,
  IncidentsAcknowledged,
} from '#contract/incidents.ts'
import { getAlert, listAlerts, retryAlert } from '../alerts/alert-store.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { acknowledgeIncidents, getIncident, listIncidents, updateIncident } from './store.ts'
import { listEntries } from './timeline.ts'

const takesIfMatch = { takesIfMatch: true }

export function incidentRoutes({ db, keyring, config }: Deps): Routes {
  const params = Params('incident')
  return async (app) => {
    tagRoutes(app, 'Alerts')
    const list = {
      operationId: 'listIncidents',
      summary: 'List incidents',
      querystring: IncidentQuery,
      response: Responses(200, PageOf(Incident)),
    }
    app.get('/incidents', { schema: list }, ({ query, context }) => listIncidents(db, keyring, context, query))

    const read = { operationId: 'getIncident', summary: 'Get an incident', params, response: Responses(200, Incident) }
    app.get('/incidents/:incident', { schema: read }, ({ params, context }) =>
      getIncident(db, context, params.incident),
    )

    const change = {
      operationId: 'updateIncident',
      summary: 'Update an incident',
      description:
        'Acknowledges, assigns or snoozes the incident, or changes its note. Alerts of an acknowledged incident that are not sent yet are canceled.',
      params,
      body: IncidentChange,
      response: Responses(200, Incident),
    }
    app.patch('/incidents/:incident', { config: takesIfMatch, schema: change }, ({ params, body, context, match }) =>
      updateIncident(db, context, params.incident, body, match),
    )

    const acknowledge = {
      operationId: 'acknowledgeIncidents',
      summary: 'Acknowledge several incidents',
      description:
        'Acknowledges up to 100 incidents in one transaction. Alerts about them that are not sent yet are canceled. Incidents that are resolved or acknowledged already do not change.',
      body: IncidentAcknowledgements,
      response: Responses(200, IncidentsAcknowledged),
    }
    app.post('/incidents/acknowledge', { schema: acknowledge }, (request, reply) =>
      runIdempotent(request, reply, db, {
        execute: async (db) => ({ count: await acknowledgeIncidents(db, request.context, request.body) }),
        respond: async (_, result) => result,
      }),
    )

    const timeline = {
      operationId: 'listIncidentEntries',
      summary: 'List the timeline of an incident',
      description: 'Who was notified when, and what people did.',
      params,
      querystring: IncidentEntryQuery,
      response: Responses(200, PageOf(IncidentEntry)),
    }
    app.get('/incidents/:incident/timeline', { schema: timeline }, ({ params, query, context }) =>
      listEntries(db, keyring, context, params.incident, query),
    )

    const alerts = {
      operationId: 'listAlerts',
      summary: 'List alerts',
      querystring: AlertQuery,
      response: Responses(200, PageOf(Alert)),
    }
    app.get('/alerts', { schema: alerts }, ({ query, context }) => listAlerts(db, keyring, context, query))

    const alert = {
      operationId: 'getAlert',
      summary: 'Get an alert with its attempts',
      params: Params('alert'),
      response: Responses(200, AlertInFull),
    }
    app.get('/alerts/:alert', { schema: alert }, ({ params, context }) => getAlert(db, context, params.alert))

    const retry = {
      operationId: 'retryAlert',
      summary: 'Send an alert again',
      description:
        'Sends the alert again, even if it was delivered. Returns 409 for a test, and for an alert that was not attempted yet, and 429 at the hourly limit of the channel.',
      params: Params('alert'),
      response: Responses(202, AlertInFull),
    }
    app.post('/alerts/:alert/retry', { schema: retry }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => retryAlert(db, context, params.alert, config),
        respond: (db) => {
          reply.code(202)
          return getAlert(db, context, params.alert)
        },
      })
    })
  }
}
