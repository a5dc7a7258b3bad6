import type { FastifyRequest } from 'fastify'
import {
  AlertPreview,
  AlertRule,
  AlertRuleChange,
  AlertRuleQuery,
  NewAlertRule,
  PreviewedRule,
} from '#contract/alerts.ts'
import { PageOf } from '#contract/common.ts'
import { MonitorAlertRules } from '#contract/monitor-alert-rules.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { throwIfInvalid } from '../problem.ts'
import { getMonitorRules } from './monitor-rules.ts'
import { previewRule } from './rule-preview.ts'
import { deleteRule, getRule, insertRule, listRules, referenceErrors, updateRule } from './rule-store.ts'

const attachValidation = true
const takesIfMatch = { takesIfMatch: true }

export function ruleRoutes({ db, keyring }: Deps): Routes {
  const params = Params('rule')
  const refuseInvalid = async (request: FastifyRequest) => {
    const errors = await referenceErrors(db, request.context, request.body as NewAlertRule)
    throwIfInvalid({ ...errors, ...schemaErrors(request) })
  }
  return async (app) => {
    tagRoutes(app, 'Alerts')
    const list = {
      operationId: 'listAlertRules',
      summary: 'List alert rules',
      querystring: AlertRuleQuery,
      response: Responses(200, PageOf(AlertRule)),
    }
    app.get('/alert-rules', { schema: list }, ({ query, context }) => listRules(db, keyring, context, query))

    const create = {
      operationId: 'createAlertRule',
      summary: 'Create an alert rule',
      description:
        'A rule applies to failures from now on. The first result of a monitor sends no alert, unless `first_results` is true.',
      body: NewAlertRule,
      response: Responses(201, AlertRule),
    }
    app.post('/alert-rules', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: () => refuseInvalid(request),
        execute: (db) => insertRule(db, context, body),
        respond: (db, id) => {
          reply.code(201).header('location', `/alert-rules/${id}`)
          return getRule(db, context, id)
        },
      })
    })

    const ofMonitor = {
      operationId: 'listMonitorAlertRules',
      summary: 'List which alert rules apply to a monitor, and why',
      params: Params('monitor'),
      response: Responses(200, MonitorAlertRules),
    }
    app.get('/monitors/:monitor/alert-rules', { schema: ofMonitor }, ({ params, context }) =>
      getMonitorRules(db, context, params.monitor),
    )

    const preview = {
      operationId: 'previewAlertRule',
      summary: 'Preview an alert rule',
      description:
        'Returns the failures of the last 30 days that the rule matches and that lasted longer than its delay.',
      body: PreviewedRule,
      response: Responses(200, AlertPreview),
    }
    app.post(
      '/alert-rules/preview',
      { attachValidation, config: { writesNothing: true }, schema: preview },
      async (request) => {
        await refuseInvalid(request)
        return await previewRule(db, request.context, request.body)
      },
    )

    const read = {
      operationId: 'getAlertRule',
      summary: 'Get an alert rule',
      params,
      response: Responses(200, AlertRule),
    }
    app.get('/alert-rules/:rule', { schema: read }, ({ params, context }) => getRule(db, context, params.rule))

    const change = {
      operationId: 'updateAlertRule',
      summary: 'Update an alert rule',
      description: 'Fields you leave out keep their values.',
      params,
      body: AlertRuleChange,
      response: Responses(200, AlertRule),
    }
    app.patch('/alert-rules/:rule', { attachValidation, config: takesIfMatch, schema: change }, async (request) => {
      await refuseInvalid(request)
      const { params, body, context, match } = request
      await updateRule(db, context, params.rule, body as AlertRuleChange, match)
      return await getRule(db, context, params.rule)
    })

    const remove = {
      operationId: 'deleteAlertRule',
      summary: 'Delete an alert rule',
      description: 'Alerts of the rule that are not sent yet are canceled.',
      params,
      response: Responses(204, NoContent),
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
