import { Agent, AgentChange, AgentQuery, Invitation, InvitationQuery, NewInvitation } from '#contract/agents.ts'
import { PageOf } from '#contract/common.ts'
import type { Deps } from '../deps.ts'
import { requireWriteRole } from '../http/authorization.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { withinQuota } from '../organization/quota.ts'
import { deleteAgent, getAgent, listAgents, updateAgent } from './agents.ts'
import { getInvitation, insertInvitation, listInvitations, resendInvitation, revokeInvitation } from './invitations.ts'

export function agentRoutes(deps: Deps): Routes {
  const { db, clock, keyring } = deps
  const limit = deps.config.invitationLimit
  return async (app) => {
    tagRoutes(app, 'Agents')
    const agent = { params: Params('agent') }
    const invitation = { params: Params('invitation') }
    requireWriteRole(app, 'admin')

    app.get(
      '/agents',
      {
        schema: {
          operationId: 'listAgents',
          summary: 'List agents',
          querystring: AgentQuery,
          response: Responses(200, PageOf(Agent)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listAgents(db, keyring, context, query)),
    )

    app.get(
      '/agents/:agent',
      { schema: { operationId: 'getAgent', summary: 'Get an agent', ...agent, response: Responses(200, Agent) } },
      ({ params, context }) => getAgent(db, context, params.agent),
    )

    app.patch(
      '/agents/:agent',
      {
        config: { takesIfMatch: true },
        schema: {
          operationId: 'updateAgent',
          summary: 'Update an agent',
          description:
            'Fields you leave out keep their values. With a lower role, the API keys of the agent lose the same permissions, and open invitations to higher roles are revoked. The last owner must stay an owner (409).',
          ...agent,
          body: AgentChange,
          response: Responses(200, Agent),
        },
      },
      ({ params, body, context, match }) => updateAgent({ db, keyring }, context, params.agent, body, match),
    )

    app.delete(
      '/agents/:agent',
      {
        config: { takesIfMatch: true },
        schema: {
          operationId: 'deleteAgent',
          summary: 'Delete an agent',
          description:
            'Removes the agent from the organization and revokes the API keys and open invitations they created. The last owner cannot be removed (409).',
          ...agent,
          response: Responses(204, NoContent),
        },
      },
      async ({ params, context, match }, reply) => {
        await deleteAgent(db, context, params.agent, match)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/agents/invitations',
      {
        schema: {
          operationId: 'listAgentInvitations',
          summary: 'List invitations',
          querystring: InvitationQuery,
          response: Responses(200, PageOf(Invitation)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listInvitations(db, keyring, context, query, clock.now())),
    )

    app.post(
      '/agents/invitations',
      {
        schema: {
          operationId: 'createAgentInvitation',
          summary: 'Create an invitation',
          description:
            'Sends an email with a link to join. The link works once and expires after 7 days. Returns 409 if the address belongs to a member or has an open invitation.',
          body: NewInvitation,
          response: Responses(201, Invitation),
        },
      },
      (request, reply) => {
        const { body, context } = request
        return runIdempotent(request, reply, db, {
          execute: (db) =>
            withinQuota({ ...deps, db }, context, 'agents', (transaction) =>
              insertInvitation(transaction, keyring, { context, limit }, body),
            ),
          respond: (_db, created) => {
            reply.code(201).header('location', `/agents/invitations/${created.id}`)
            return created
          },
        })
      },
    )

    app.get(
      '/agents/invitations/:invitation',
      {
        schema: {
          operationId: 'getAgentInvitation',
          summary: 'Get an invitation',
          ...invitation,
          response: Responses(200, Invitation),
        },
      },
      ({ params, context }) => getInvitation(db, context, params.invitation, clock.now()),
    )

    app.post(
      '/agents/invitations/:invitation/resend',
      {
        schema: {
          operationId: 'resendAgentInvitation',
          summary: 'Resend an invitation',
          description:
            'Sends a new link that expires after 7 days. The previous link stops working. Returns 409 if the invitation was accepted or revoked.',
          ...invitation,
          response: Responses(202, Invitation),
        },
      },
      (request, reply) => {
        const { params, context } = request
        return runIdempotent(request, reply, db, {
          // An expired invitation counts as an agent again.
          execute: (db) =>
            withinQuota({ ...deps, db }, context, 'agents', (transaction) =>
              resendInvitation(transaction, keyring, { context, limit }, params.invitation),
            ),
          respond: (_db, resent) => {
            reply.code(202)
            return resent
          },
        })
      },
    )

    app.delete(
      '/agents/invitations/:invitation',
      {
        schema: {
          operationId: 'deleteAgentInvitation',
          summary: 'Revoke an invitation',
          description: 'The link stops working. The invitation stays in the list as `revoked`.',
          ...invitation,
          response: Responses(204, NoContent),
        },
      },
      async ({ params, context }, reply) => {
        await revokeInvitation(db, context, params.invitation)
        return reply.code(204).send(null)
      },
    )
  }
}
