import { Type } from 'typebox'
import { EMAIL } from '#contract/agents.ts'
import { Settings } from './channel-type.ts'

/** server/alerts/alert-mail.ts has the message. */
export const email = {
  type: 'email' as const,
  name: 'Email',
  help: 'Members receive alerts at once. Other addresses are confirmed with a link first.',
  settings: Settings({
    owners: Type.Optional(
      Type.Boolean({
        title: 'Send to all owners of the organization',
        description: 'Also those who become owners later.',
      }),
    ),
    addresses: Type.Optional(
      Type.Array(Type.String({ maxLength: 254, pattern: EMAIL, description: 'an email address' }), {
        title: 'Addresses',
        maxItems: 20,
        description: 'At most 20 addresses.',
      }),
    ),
  }),
}
