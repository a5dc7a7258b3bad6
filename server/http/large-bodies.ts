import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'

/** Bodies above this size are accepted by bulk and import routes only. */
const LARGE_BYTES = 1024 * 1024
/** Large bodies that a process holds at a time: at most 16 MiB each, and what is parsed from them. */
const MAX_LARGE_BODIES = 16
const MAX_OF_ORGANIZATION = 4

/** Bounds the memory of requests with large bodies, from their headers to their response. */
export function limitLargeBodies(app: FastifyInstance): void {
  const pending = new Map<FastifyRequest, string>()
  app.addHook('preParsing', async (request, reply) => {
    if (!mayBeLarge(request)) return
    const { organizationId = '' } = request.context ?? {}
    const ofOrganization = [...pending.values()].filter((id) => id === organizationId).length
    const isOrganizationFull = ofOrganization >= MAX_OF_ORGANIZATION
    if (isOrganizationFull || pending.size >= MAX_LARGE_BODIES) {
      // The rest of the body is not read.
      reply.headers({ 'retry-after': '1', connection: 'close' })
      if (!isOrganizationFull) throw new Problem(503, `${TOO_MANY} Try again in 1 second.`)
      throw new Problem(
        429,
        `${ofOrganization} requests of this organization with more than 1 MiB are running, which is the limit. Try again in 1 second.`,
      )
    }
    pending.set(request, organizationId)
    reply.raw.once('close', () => pending.delete(request))
  })
}

const TOO_MANY = 'The server is processing as many requests with more than 1 MiB as it can.'

/** Without a length, a body can be as large as the route allows. */
function mayBeLarge({ headers, routeOptions }: FastifyRequest): boolean {
  if ((routeOptions.bodyLimit ?? 0) <= LARGE_BYTES) return false
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) > LARGE_BYTES
}
