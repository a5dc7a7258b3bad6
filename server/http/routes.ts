import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { ErrorBody } from '#contract/common.ts'

export type Routes = FastifyPluginAsyncTypebox

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
  change: "The planned change's id (`pch_…`).",
  incident: "The incident's id (`inc_…`).",
  alert: "The alert's id (`alr_…`).",
  job: "The job's id (`job_…`).",
  setup_page: "The setup page's id (`stp_…`).",
  external_id: 'The id that you gave the object.',
  key: "The API key's id (`key_…`).",
  invitation: "The invitation's id (`inv_…`).",
}

/** Path parameters are text; one that cannot be an id simply names nothing. */
export const Params = <T extends string>(...names: T[]) =>
  Type.Object(
    Object.fromEntries(
      names.map((name) => [name, Type.String(PARAMETERS[name] ? { description: PARAMETERS[name] } : {})]),
    ) as Record<T, ReturnType<typeof Type.String>>,
  )

/** What a route may answer: its success and, everywhere, an error. */
export const Responses = <S extends number, T extends TSchema>(status: S, body: T) =>
  ({ [status]: body, '4xx': ErrorBody, '5xx': ErrorBody }) as Record<S, T> & {
    '4xx': typeof ErrorBody
    '5xx': typeof ErrorBody
  }

/**
 * For routes whose answers are made key by key, so that nothing is left to the schema to take out: a page of monitors is
 * written, and then sent, in half the time.
 */
export const plainJsonSerializer: FastifySerializerCompiler<unknown> = () => (body) =>
  body instanceof PreserializedJson ? body.json : JSON.stringify(body)

class PreserializedJson {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** For a route that is sent as it is: a body that was written as JSON elsewhere, of the type that it reads as. */
export const preserializedJson = <T>(json: string): T => new PreserializedJson(json) as T

export const NoContent = Type.Null({ description: 'No body.' })
