import { Type } from 'typebox'
import { Instant, Nullable, StrictObject } from './common.ts'

/** `GET` and `POST /alert-addresses/…/{token}`. */
export const AddressAnswer = StrictObject(
  { email: Type.String(), organization: Type.String() },
  { title: 'AddressAnswer', examples: [{ email: 'ops@example.com', organization: 'Acme' }] },
)

export const AddressStates = StrictObject(
  {
    data: Type.Array(
      StrictObject({
        email: Type.String({ description: 'In lower case.' }),
        state: Type.Enum(['confirmed', 'unconfirmed', 'unsubscribed'] as const, {
          description:
            '`confirmed`: receives mails; the address of a member is. `unconfirmed`: receives only the confirmation link. `unsubscribed`: receives nothing.',
        }),
        confirmation_sent: Nullable(Instant('When the last confirmation link was sent. It works for 7 days.')),
      }),
    ),
  },
  {
    title: 'AddressStates',
    examples: [
      {
        data: [{ email: 'ops@example.com', state: 'unconfirmed', confirmation_sent: '2026-07-01T12:00:00.000Z' }],
      },
    ],
  },
)
