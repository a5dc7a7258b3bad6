import type { FastifyRequest } from 'fastify'
import {
  AddressAnswer,
  AlertPreview,
  AlertRule,
  AlertRuleChange,
  AlertRuleQuery,
  Channel,
  ChannelChange,
  ChannelQuery,
  ChannelTypes,
  NewAlertRule,
  NewChannel,
  PreviewedRule,
} from '#contract/alerts.ts'
import { PageOf } from '#contract/common.ts'
import { Alert, AlertInFull, AlertQuery, Incident, IncidentChange, IncidentQuery } from '#contract/incidents.ts'
import type { Deps } from '../deps.ts'
import { enforceLimit, networkOf } from '../http/auth-and-rate-limit.ts'
import { once } from '../http/idempotency.ts'
import { Limiter } from '../http/limiter.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { schemaErrors } from '../http/schema-errors.ts'
import { refuse } from '../problem.ts'
import { useLink } from './addresses.ts'
import { getAlert, listAlerts, retryAlert } from './alert-store.ts'
import {
  deleteChannel,
  getChannel,
  insertChannel,
  listChannels,
  mergedSettings,
  refusalsOf,
  updateChannel,
} from './channel-store.ts'
import { channelTypes, MEDIA } from './channels/channels.ts'
import { getIncident, listIncidents, updateIncident } from './incident-store.ts'
import { deleteRule, getRule, insertRule, listRules, previewRule, refuseUnknown, updateRule } from './rule-store.ts'
import { insertTest, sendTest } from './send-test.ts'

const tags = ['Alerts']
const attachValidation = true
const byAdmins = { changedBy: 'admin' } as const
const takesIfMatch = { takesIfMatch: true }

/** Channels, alert rules, incidents, and the log of what was sent. */
export function alertRoutes(deps: Deps): Routes {
  return async (app) => {
    await app.register(channelRoutes(deps))
    await app.register(ruleRoutes(deps))
    await app.register(incidentRoutes(deps))
  }
}

function channelRoutes(deps: Deps): Routes {
  const { db, seal } = deps
  const params = Params('channel')
  return async (app) => {
    const types = {
      operationId: 'listChannelTypes',
      summary: 'List channel types and their settings',
      tags,
      response: Answers(200, ChannelTypes),
    }
    app.get('/channel-types', { schema: types }, async () => ({ data: channelTypes() }))

    const list = {
      operationId: 'listChannels',
      summary: 'List channels',
      tags,
      querystring: ChannelQuery,
      response: Answers(200, PageOf(Channel)),
    }
    app.get('/channels', { schema: list }, ({ query, context }) => listChannels(db, seal, context, query))

    const create = {
      operationId: 'createChannel',
      summary: 'Create a channel',
      description: 'Secrets are encrypted and not returned again. Send a test with POST /channels/{channel}/test.',
      tags,
      body: NewChannel,
      response: Answers(201, Channel),
    }
    app.post('/channels', { attachValidation, config: byAdmins, schema: create }, (request, reply) => {
      const { body, context } = request
      return once(request, reply, db, {
        prepare: async () => {
          const refused = schemaErrors(request)
          const isKnown = typeof body.type === 'string' && Object.hasOwn(MEDIA, body.type)
          const wrong = isKnown ? await refusalsOf(deps, context.organizationId, body.type, body.settings) : {}
          refuse({ ...wrong, ...refused })
        },
        effect: (db) => insertChannel(db, seal, context, body),
        answer: (db, id) => {
          reply.code(201).header('location', `/channels/${id}`)
          return getChannel(db, seal, context, id)
        },
      })
    })

    const read = { operationId: 'getChannel', summary: 'Get a channel', tags, params, response: Answers(200, Channel) }
    app.get('/channels/:channel', { schema: read }, ({ params, context }) =>
      getChannel(db, seal, context, params.channel),
    )

    const change = {
      operationId: 'updateChannel',
      summary: 'Update a channel',
      description: 'Fields you leave out keep their values. `settings` is replaced as a whole, except secrets.',
      tags,
      params,
      body: ChannelChange,
      response: Answers(200, Channel),
    }
    app.patch(
      '/channels/:channel',
      { attachValidation, config: { ...byAdmins, ...takesIfMatch }, schema: change },
      async (request) => {
        const { params, body, context, match } = request
        const refused = schemaErrors(request)
        const isGiven = typeof body.settings === 'object' && body.settings !== null
        const merged = await mergedSettings(db, seal, context, params.channel, isGiven ? body.settings! : {})
        const wrong = isGiven ? await refusalsOf(deps, context.organizationId, merged.type, merged.settings) : {}
        refuse({ ...wrong, ...refused })
        await updateChannel(
          db,
          seal,
          context,
          params.channel,
          { ...body, ...(isGiven ? { settings: merged.settings } : {}) },
          match,
        )
        return await getChannel(db, seal, context, params.channel)
      },
    )

    const remove = {
      operationId: 'deleteChannel',
      summary: 'Delete a channel',
      description: 'Alerts that are not sent yet are canceled. Returns 409 if an alert rule has no other channel.',
      tags,
      params,
      response: Answers(204, NoContent),
    }
    app.delete(
      '/channels/:channel',
      { config: { ...byAdmins, ...takesIfMatch }, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteChannel(db, seal, context, params.channel, match)
        return reply.code(204).send(null)
      },
    )

    const test = {
      operationId: 'testChannel',
      summary: 'Send a test',
      description: 'Sends a made-up alert once, and answers with what came of it.',
      tags,
      params,
      response: Answers(201, AlertInFull),
    }
    app.post('/channels/:channel/test', { config: byAdmins, schema: test }, (request, reply) => {
      const { params, context } = request
      return once(request, reply, db, {
        prepare: () => sendTest(deps, context, params.channel),
        effect: (db, sent) => insertTest(db, context, sent),
        answer: (db, id) => {
          reply.code(201).header('location', `/alerts/${id}`)
          return getAlert(db, context, id)
        },
      })
    })
  }
}

function ruleRoutes({ db, seal }: Deps): Routes {
  const params = Params('rule')
  const refuseWrong = async (request: FastifyRequest) => {
    const refused = schemaErrors(request)
    refuse({ ...(await refuseUnknown(db, request.context, request.body as NewAlertRule)), ...refused })
  }
  return async (app) => {
    const list = {
      operationId: 'listAlertRules',
      summary: 'List alert rules',
      tags,
      querystring: AlertRuleQuery,
      response: Answers(200, PageOf(AlertRule)),
    }
    app.get('/alert-rules', { schema: list }, ({ query, context }) => listRules(db, seal, context, query))

    const create = {
      operationId: 'createAlertRule',
      summary: 'Create an alert rule',
      description: 'A rule is about failures that happen from now on. The first result of a monitor alerts nobody.',
      tags,
      body: NewAlertRule,
      response: Answers(201, AlertRule),
    }
    app.post('/alert-rules', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return once(request, reply, db, {
        prepare: () => refuseWrong(request),
        effect: (db) => insertRule(db, context, body),
        answer: (db, id) => {
          reply.code(201).header('location', `/alert-rules/${id}`)
          return getRule(db, context, id)
        },
      })
    })

    const preview = {
      operationId: 'previewAlertRule',
      summary: 'Preview an alert rule',
      description: 'Which failures of the last 30 days a rule like this matches, and that lasted as long as it waits.',
      tags,
      body: PreviewedRule,
      response: Answers(200, AlertPreview),
    }
    app.post(
      '/alert-rules/preview',
      { attachValidation, config: { writesNothing: true }, schema: preview },
      async (request) => {
        await refuseWrong(request)
        return await previewRule(db, request.context, request.body)
      },
    )

    const read = {
      operationId: 'getAlertRule',
      summary: 'Get an alert rule',
      tags,
      params,
      response: Answers(200, AlertRule),
    }
    app.get('/alert-rules/:rule', { schema: read }, ({ params, context }) => getRule(db, context, params.rule))

    const change = {
      operationId: 'updateAlertRule',
      summary: 'Update an alert rule',
      description: 'Fields you leave out keep their values.',
      tags,
      params,
      body: AlertRuleChange,
      response: Answers(200, AlertRule),
    }
    app.patch('/alert-rules/:rule', { attachValidation, config: takesIfMatch, schema: change }, async (request) => {
      await refuseWrong(request)
      const { params, body, context, match } = request
      await updateRule(db, context, params.rule, body as AlertRuleChange, match)
      return await getRule(db, context, params.rule)
    })

    const remove = {
      operationId: 'deleteAlertRule',
      summary: 'Delete an alert rule',
      description: 'Its alerts that are not sent yet are canceled.',
      tags,
      params,
      response: Answers(204, NoContent),
    }
    app.delete(
      '/alert-rules/:rule',
      { config: takesIfMatch, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteRule(db, context, params.rule, match)
        return reply.code(204).send(null)
      },
    )
  }
}

function incidentRoutes({ db, seal }: Deps): Routes {
  const params = Params('incident')
  return async (app) => {
    const list = {
      operationId: 'listIncidents',
      summary: 'List incidents',
      tags,
      querystring: IncidentQuery,
      response: Answers(200, PageOf(Incident)),
    }
    app.get('/incidents', { schema: list }, ({ query, context }) => listIncidents(db, seal, context, query))

    const read = {
      operationId: 'getIncident',
      summary: 'Get an incident',
      tags,
      params,
      response: Answers(200, Incident),
    }
    app.get('/incidents/:incident', { schema: read }, ({ params, context }) =>
      getIncident(db, context, params.incident),
    )

    const change = {
      operationId: 'updateIncident',
      summary: 'Update an incident',
      description:
        'Acknowledges it, or changes its note. Alerts of an acknowledged incident that are not sent yet are canceled.',
      tags,
      params,
      body: IncidentChange,
      response: Answers(200, Incident),
    }
    app.patch('/incidents/:incident', { config: takesIfMatch, schema: change }, ({ params, body, context, match }) =>
      updateIncident(db, context, params.incident, body, match),
    )

    const alerts = {
      operationId: 'listAlerts',
      summary: 'List alerts',
      tags,
      querystring: AlertQuery,
      response: Answers(200, PageOf(Alert)),
    }
    app.get('/alerts', { schema: alerts }, ({ query, context }) => listAlerts(db, seal, context, query))

    const one = {
      operationId: 'getAlert',
      summary: 'Get an alert with its attempts',
      tags,
      params: Params('alert'),
      response: Answers(200, AlertInFull),
    }
    app.get('/alerts/:alert', { schema: one }, ({ params, context }) => getAlert(db, context, params.alert))

    const retry = {
      operationId: 'retryAlert',
      summary: 'Send an alert again',
      description: 'Also one that was sent. Returns 409 for a test, and for an alert that was not attempted yet.',
      tags,
      params: Params('alert'),
      response: Answers(202, AlertInFull),
    }
    app.post('/alerts/:alert/retry', { schema: retry }, (request, reply) => {
      const { params, context } = request
      return once(request, reply, db, {
        effect: (db) => retryAlert(db, context, params.alert),
        answer: (db) => {
          reply.code(202)
          return getAlert(db, context, params.alert)
        },
      })
    })
  }
}

/** What the links of mails lead to: anyone who has the link needs no account. */
export function addressRoutes({ db, clock, seal, config }: Deps): Routes {
  return async (app) => {
    const limiter = new Limiter({ db, clock, limits: config.limits })
    app.addHook('onRequest', async (request, reply) => {
      enforceLimit(await limiter.take(networkOf(request.ip), 'dashboard'), clock.now(), reply, {
        kind: 'dashboard',
        whose: 'of one user',
      })
    })
    // Mail programs send `List-Unsubscribe=One-Click` as a form, RFC 8058 section 3.1.
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 1024 },
      (_request, _body, done) => done(null, {}),
    )
    const schema = { params: Params('token'), response: Answers(200, AddressAnswer) }
    for (const purpose of ['confirm', 'unsubscribe'] as const) {
      app.get(`/alert-addresses/${purpose}/:token`, { schema }, ({ params }) =>
        useLink(db, seal, purpose, params.token, null),
      )
      app.post(`/alert-addresses/${purpose}/:token`, { schema }, ({ params }) =>
        useLink(db, seal, purpose, params.token, clock.now()),
      )
    }
  }
}
