import { Agent, AgentChange, AgentQuery, Invitation, InvitationQuery, NewInvitation } from '#contract/agents.ts'
import { PageOf } from '#contract/common.ts'
import { changedBy } from '../access/permit.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { withRoom } from '../organization/room.ts'
import type { Doors } from '../outside.ts'
import {
  getInvitation,
  insertInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from './invitation-store.ts'
import { deleteAgent, getAgent, listAgents, refuseLesser, updateAgent } from './store.ts'

export function agentRoutes(doors: Doors): Routes {
  const { db, clock, seal } = doors
  return async (app) => {
    const agent = { params: Params('agent') }
    const invitation = { params: Params('invitation') }
    changedBy(app, 'admin')

    app.get(
      '/agents',
      { schema: { querystring: AgentQuery, response: Answers(200, PageOf(Agent)) } },
      ({ query, caller }) => listAgents(db, seal, caller.organizationId, query),
    )

    app.get('/agents/:agent', { schema: { ...agent, response: Answers(200, Agent) } }, ({ params, caller }) =>
      getAgent(db, caller.organizationId, params.agent),
    )

    app.patch(
      '/agents/:agent',
      {
        schema: {
          description: 'What is absent stays. The last owner keeps that role (409).',
          ...agent,
          body: AgentChange,
          response: Answers(200, Agent),
        },
      },
      ({ params, body, caller }) => updateAgent(db, caller, params.agent, body),
    )

    app.delete(
      '/agents/:agent',
      {
        schema: {
          description: 'The person has no more access. The last owner cannot go (409).',
          ...agent,
          response: Answers(204, NoContent),
        },
      },
      async ({ params, caller }, reply) => {
        await deleteAgent(db, caller, params.agent)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/agents/invitations',
      { schema: { querystring: InvitationQuery, response: Answers(200, PageOf(Invitation)) } },
      ({ query, caller }) => listInvitations(db, seal, caller.organizationId, query, clock.now()),
    )

    app.post(
      '/agents/invitations',
      {
        schema: {
          description:
            'Sends a link by mail that is good once, for 7 days, to sign in or up with that address. Who belongs to the organization or has an open invitation is a 409.',
          body: NewInvitation,
          response: Answers(201, Invitation),
        },
      },
      async ({ body, caller }, reply) => {
        const { organizationId, actor } = caller
        if (body.role === 'owner') refuseLesser(caller.role)
        const given = { ...body, invitedBy: actor }
        const made = await withRoom(doors, organizationId, 'agents', (transaction) =>
          insertInvitation(transaction, seal, organizationId, given, clock.now()),
        )
        reply.code(201).header('location', `/agents/invitations/${made.id}`)
        return made
      },
    )

    app.get(
      '/agents/invitations/:invitation',
      { schema: { ...invitation, response: Answers(200, Invitation) } },
      ({ params, caller }) => getInvitation(db, caller.organizationId, params.invitation, clock.now()),
    )

    app.post(
      '/agents/invitations/:invitation/resend',
      {
        schema: {
          description:
            'Sends a new link, good for another 7 days; the one before stops working. What was accepted or revoked is a 409.',
          ...invitation,
          response: Answers(202, Invitation),
        },
      },
      async ({ params, caller }, reply) => {
        const { organizationId } = caller
        reply.code(202)
        // An expired one takes its place among the agents again.
        return await withRoom(doors, organizationId, 'agents', (transaction) =>
          resendInvitation(transaction, seal, organizationId, params.invitation, clock.now()),
        )
      },
    )

    app.delete(
      '/agents/invitations/:invitation',
      {
        schema: {
          summary: 'Revoke an invitation',
          description: 'Its link stops working. It stays in the list as `revoked`.',
          ...invitation,
          response: Answers(204, NoContent),
        },
      },
      async ({ params, caller }, reply) => {
        await revokeInvitation(db, caller.organizationId, params.invitation, clock.now())
        return reply.code(204).send(null)
      },
    )
  }
}
