import { AddressStates } from '#contract/alert-addresses.ts'
import { Channel, ChannelChange, ChannelQuery, ChannelTypes, NewChannel } from '#contract/alerts.ts'
import { PageOf } from '#contract/common.ts'
import { AlertInFull, AlertReplay, AlertsReplayed } from '#contract/incidents.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent, runIdempotentSteps } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { listAddresses } from '../mail/addresses.ts'
import { throwIfInvalid } from '../problem.ts'
import { parsePeriod } from '../times.ts'
import { newAlertReplay, REPLAYED_STATUSES, replayAlertBatch } from './alert-replay.ts'
import { getAlert } from './alert-store.ts'
import {
  deleteChannel,
  getChannel,
  insertChannel,
  listChannels,
  mergeSettings,
  settingsErrors,
  updateChannel,
} from './channel-store.ts'
import { ALL_CHANNEL_TYPES, channelTypeInfos } from './channel-types/channel-types.ts'
import { insertTest, sendTest } from './send-test.ts'

const attachValidation = true
const byAdmins = { writeRole: 'admin' } as const
const takesIfMatch = { takesIfMatch: true }

export function channelRoutes(deps: Deps): Routes {
  const { db, keyring } = deps
  const params = Params('channel')
  return async (app) => {
    tagRoutes(app, 'Alerts')
    const types = {
      operationId: 'listChannelTypes',
      summary: 'List channel types and their settings',
      response: Responses(200, ChannelTypes),
    }
    app.get('/channel-types', { schema: types }, async () => ({ data: channelTypeInfos() }))

    const addresses = {
      operationId: 'listAlertAddresses',
      summary: 'List mail addresses and whether they are confirmed',
      description:
        'The newest 200 addresses of channels, `notification_email` and `alert_emails`. An address receives alerts and notices after its holder opened the link of a confirmation mail, and none after unsubscribing.',
      response: Responses(200, AddressStates),
    }
    app.get('/alert-addresses', { schema: addresses }, async ({ context }) => ({
      data: await listAddresses(db, context),
    }))

    const list = {
      operationId: 'listChannels',
      summary: 'List channels',
      querystring: ChannelQuery,
      response: Responses(200, PageOf(Channel)),
    }
    app.get('/channels', { schema: list }, ({ query, context }) => listChannels(db, keyring, context, query))

    const create = {
      operationId: 'createChannel',
      summary: 'Create a channel',
      description: 'Secrets are encrypted and not returned again. Send a test with POST /channels/{channel}/test.',
      body: NewChannel,
      response: Responses(201, Channel),
    }
    app.post('/channels', { attachValidation, config: byAdmins, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: async () => {
          const isKnownType = typeof body.type === 'string' && Object.hasOwn(ALL_CHANNEL_TYPES, body.type)
          const errors = isKnownType ? await settingsErrors(deps, body.type, body.settings) : {}
          throwIfInvalid({ ...errors, ...schemaErrors(request) })
        },
        execute: (db) => insertChannel(db, keyring, context, body),
        respond: (db, id) => {
          reply.code(201).header('location', `/channels/${id}`)
          return getChannel(db, keyring, context, id)
        },
      })
    })

    const read = { operationId: 'getChannel', summary: 'Get a channel', params, response: Responses(200, Channel) }
    app.get('/channels/:channel', { schema: read }, ({ params, context }) =>
      getChannel(db, keyring, context, params.channel),
    )

    const change = {
      operationId: 'updateChannel',
      summary: 'Update a channel',
      description:
        'Fields you leave out keep their values. `settings` is replaced as a whole, except secrets. A new address needs the secrets again.',
      params,
      body: ChannelChange,
      response: Responses(200, Channel),
    }
    app.patch(
      '/channels/:channel',
      { attachValidation, config: { ...byAdmins, ...takesIfMatch }, schema: change },
      async (request) => {
        const { params, body, context, match } = request
        const hasSettings = typeof body.settings === 'object' && body.settings !== null
        const input = hasSettings ? body.settings! : {}
        const merged = await mergeSettings(db, keyring, context, params.channel, input)
        const { type, settings } = merged
        const errors = hasSettings ? { ...(await settingsErrors(deps, type, settings)), ...merged.errors } : {}
        throwIfInvalid({ ...errors, ...schemaErrors(request) })
        const changed = hasSettings ? { ...body, settings } : body
        await updateChannel(db, keyring, context, params.channel, changed, match)
        return await getChannel(db, keyring, context, params.channel)
      },
    )

    const remove = {
      operationId: 'deleteChannel',
      summary: 'Delete a channel',
      description: 'Alerts that are not sent yet are canceled. Returns 409 if an alert rule has no other channel.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/channels/:channel',
      { config: { ...byAdmins, ...takesIfMatch }, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteChannel(db, keyring, context, params.channel, match)
        return reply.code(204).send(null)
      },
    )

    const test = {
      operationId: 'testChannel',
      summary: 'Send a test',
      description: 'Sends an example alert once and returns the result of the attempt.',
      params,
      response: Responses(201, AlertInFull),
    }
    app.post('/channels/:channel/test', { config: byAdmins, schema: test }, (request, reply) => {
      const { params, context } = request
      return runIdempotent(request, reply, db, {
        prepare: () => sendTest(deps, context, params.channel),
        execute: (db, sent) => insertTest(db, context, sent),
        respond: (db, id) => {
          reply.code(201).header('location', `/alerts/${id}`)
          return getAlert(db, context, id)
        },
      })
    })

    const replay = {
      operationId: 'replayChannel',
      summary: 'Replay the alerts of a channel',
      description:
        'Sends the alerts of a period again with the same ids, failures first and recoveries two minutes later. Alerts beyond the limit of the channel are combined in a summary. Summaries and tests are not sent again; the alerts that a summary combined are.',
      params,
      body: AlertReplay,
      response: Responses(202, AlertsReplayed),
    }
    app.post(
      '/channels/:channel/replay',
      { attachValidation, config: byAdmins, schema: replay },
      async (request, reply) => {
        const { params, body, context } = request
        const { since, until } = parsePeriod(body, context.now, schemaErrors(request))
        const statuses = body.status === undefined ? REPLAYED_STATUSES : [body.status].flat()
        return await runIdempotentSteps(request, reply, db, {
          start: () => newAlertReplay(db, context, params.channel, { since, until, statuses }),
          step: (db, replay) => replayAlertBatch(db, context, params.channel, replay),
          respond: (_db, { count }) => {
            reply.code(202)
            return { count }
          },
        })
      },
    )
  }
}
