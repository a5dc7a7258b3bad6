import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ErrorBody, organizationField, StrictObject } from '#contract/common.ts'
import { ExportedMonitors, ExportQuery, SelectedExport } from '#contract/export.ts'
import { withMetadataFilters } from '#contract/labels.ts'
import type { Deps } from '../../deps.ts'
import type { Routes } from '../../http/routes.ts'
import { Problem } from '../../problem.ts'
import { type Export, exportMonitors, exportSelected } from './export.ts'

/** Exports of one organization that run at the same time in a process. */
const MAX_RUNNING = 2

const Text = (example: string) => ({ schema: Type.String(), example })
const download = {
  description: 'The monitors, as a download.',
  content: {
    'application/json': { schema: ExportedMonitors },
    'text/csv': Text('name,type,value\r\nwww.example.com,A,192.0.2.1\r\n'),
    'text/dns': Text('$ORIGIN example.com.\nwww.example.com. IN A 192.0.2.1\n'),
  },
}

export function exportRoutes(deps: Deps): Routes {
  /** Running exports by organization. */
  const running = new Map<string, number>()
  const release = (organizationId: string) => {
    const remaining = running.get(organizationId)! - 1
    if (remaining > 0) running.set(organizationId, remaining)
    else running.delete(organizationId)
  }

  async function send(
    { context: { organizationId } }: FastifyRequest,
    reply: FastifyReply,
    startExport: () => Promise<Export>,
  ) {
    const count = running.get(organizationId) ?? 0
    if (count >= MAX_RUNNING) {
      reply.header('retry-after', '5')
      throw new Problem(429, `${count} exports of this organization are running. Wait until one ends.`)
    }
    running.set(organizationId, count + 1)
    const { content, type, fileName } = await startExport().catch((error) => {
      release(organizationId)
      throw error
    })
    content.once('close', () => release(organizationId))
    reply.type(type).header('content-disposition', `attachment; filename="${fileName}"`)
    return reply.send(content)
  }

  // A HEAD request would start an export that nobody reads.
  const exposeHeadRoute = false
  return async (app) => {
    app.get(
      '/monitors/export',
      {
        exposeHeadRoute,
        schema: {
          operationId: 'exportMonitors',
          summary: 'Export monitors',
          tags: ['Monitors'],
          description: `Returns all monitors that match the filters of \`GET /monitors\`, in its order, as one download that counts as one read. At most ${MAX_RUNNING} exports of an organization run at a time. If the connection ends before the download is complete, repeat the request.`,
          querystring: ExportQuery,
          response: { 200: download, '4xx': ErrorBody, '5xx': ErrorBody },
        },
      },
      (request, reply) => send(request, reply, () => exportMonitors(deps, request.context, request.query)),
    )

    const querystring = StrictObject({ ...ExportQuery.properties, ...organizationField }, withMetadataFilters)
    app.get(
      '/dashboard/api/monitors/export',
      { exposeHeadRoute, schema: { hide: true, querystring } },
      (request, reply) => {
        const { organization: _, ...query } = request.query
        return send(request, reply, () => exportMonitors(deps, request.context, query))
      },
    )
    // A POST, because a URL is too short for all the ids.
    app.post(
      '/dashboard/api/monitors/export',
      { config: { writesNothing: true }, schema: { hide: true, body: SelectedExport } },
      (request, reply) => send(request, reply, () => exportSelected(deps, request.context, request.body)),
    )
  }
}
