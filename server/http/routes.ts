import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifySerializerCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { ErrorBody } from '#contract/common.ts'

export type Routes = FastifyPluginAsyncTypebox

/** Sets the tag of routes without one in the OpenAPI document. Call it before the routes of the scope. */
export function tagRoutes(scope: Pick<FastifyInstance, 'addHook'>, tag: string): void {
  scope.addHook('onRoute', (route) => {
    route.schema = { tags: [tag], ...route.schema }
  })
}

/** The routes of the scope are not in the OpenAPI document. Call it before them. */
export function hideRoutes(scope: Pick<FastifyInstance, 'addHook'>): void {
  scope.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true }
  })
}

/** A HEAD request would compute the whole response, or open a stream that is never closed. */
export const withoutHead = { exposeHeadRoute: false }

const PARAMETERS: Record<string, string> = {
  monitor: "The monitor's id (`mon_…`).",
  event: "The event's id (`evt_…`).",
  group: "The group's id (`grp_…`) or its slug.",
  webhook: "The webhook's id (`whk_…`).",
  request: "The webhook request's id (`req_…`).",
  agent: "The agent's id (`agt_…`).",
  channel: "The channel's id (`chn_…`).",
  rule: "The alert rule's id (`rul_…`).",
  window: "The maintenance window's id (`mnt_…`).",
  view: "The view's id (`viw_…`).",
  zone: "The zone's id (`zon_…`) or its name.",
  change: "The planned change's id (`pch_…`).",
  incident: "The incident's id (`inc_…`).",
  alert: "The alert's id (`alr_…`).",
  job: "The job's id (`job_…`).",
  setup_page: "The setup page's id (`stp_…`).",
  external_id: 'The id that you gave the object.',
  key: "The API key's id (`key_…`).",
  invitation: "The invitation's id (`inv_…`).",
}

/** Path parameters can be any text. An invalid id is a 404. */
export const Params = <T extends string>(...names: T[]) =>
  Type.Object(
    Object.fromEntries(
      names.map((name) => [name, Type.String(PARAMETERS[name] ? { description: PARAMETERS[name] } : {})]),
    ) as Record<T, ReturnType<typeof Type.String>>,
  )

/** The success response of a route, and the errors. */
export const Responses = <S extends number, T extends TSchema>(status: S, body: T) =>
  ({ [status]: body, '4xx': ErrorBody, '5xx': ErrorBody }) as Record<S, T> & {
    '4xx': typeof ErrorBody
    '5xx': typeof ErrorBody
  }

/** For routes whose handlers build exactly the response. Halves the time for a page of monitors. */
export const plainJsonSerializer: FastifySerializerCompiler<unknown> = () => (body) =>
  body instanceof PreserializedJson ? body.json : JSON.stringify(body)

class PreserializedJson {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** A body that is JSON already, for routes with `plainJsonSerializer`. */
export const preserializedJson = <T>(json: string): T => new PreserializedJson(json) as T

export const NoContent = Type.Null({ description: 'No body.' })
