import type { AlertMessage } from '../alert-message.ts'
import { ApiUrl, httpChannelType, joinUrl, Secret, Settings, Text } from './channel-type.ts'

/** One SMS of the GSM alphabet. */
const MAX_SMS_CHARACTERS = 160
const API = 'https://api.twilio.com'
const NUMBER_PATTERN = '^\\+[1-9][0-9]{6,14}$'
const FROM_PATTERN = '^(?:\\+[1-9][0-9]{6,14}|MG[0-9a-fA-F]{32})$'

/** The Messages resource, which responds with 201. 400: a wrong number; 401: a wrong token; 429: too many requests at once. */
export const twilio = httpChannelType({
  type: 'twilio',
  name: 'SMS with Twilio',
  help: 'Account SID and auth token are on the start page of the Twilio console.',
  settings: Settings({
    account_sid: Text('Account SID', { pattern: '^AC[0-9a-fA-F]{32}$', examples: [`AC${'0'.repeat(32)}`] }),
    auth_token: Secret('Auth token'),
    from: Text('From', {
      pattern: FROM_PATTERN,
      description:
        'A number of yours, as +15551234567, or the SID of a Messaging Service, as MG and 32 hexadecimal digits.',
      examples: ['+15551234567'],
    }),
    to: Text('To', { pattern: NUMBER_PATTERN, description: 'A number, as +15557654321.', examples: ['+15557654321'] }),
    api_url: ApiUrl(API),
  }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { account_sid, auth_token, from, to, api_url = API }) => ({
    url: joinUrl(api_url, `/2010-04-01/Accounts/${account_sid}/Messages.json`),
    headers: {
      authorization: `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({
      [from.startsWith('MG') ? 'MessagingServiceSid' : 'From']: from,
      To: to,
      Body: smsText(message),
    }).toString(),
  }),
})

/** The title, the found values if they fit, and the link. */
function smsText({ title, facts, link }: AlertMessage): string {
  const maxLength = MAX_SMS_CHARACTERS - link.href.length - 1
  const found = facts.find(({ name }) => name === 'Found')
  const withFound = found === undefined ? title : `${title}, found ${found.value}`
  const text = toBasicGsm(withFound.length <= maxLength ? withFound : title)
  return `${text.length <= maxLength ? text : `${text.slice(0, Math.max(17, maxLength - 3))}...`} ${link.href}`
}

/** One character outside the GSM alphabet would halve the length of an SMS; characters of its extension table count twice. */
const toBasicGsm = (text: string): string => text.replace(/[^\x20-\x7e]|[[\]\\^`{|}~]/g, '?')
