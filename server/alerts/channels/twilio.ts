import { ApiUrl, at, cut, httpMedium, Secret, Settings, Text } from './channel.ts'

/** One SMS of the GSM alphabet. */
const SMS = 160
const API = 'https://api.twilio.com'
const NUMBER = '^\\+[1-9][0-9]{6,14}$'

/** The Messages resource, which answers 201. 400: a wrong number; 401: a wrong token; 429: too many at once. */
export const twilio = httpMedium({
  type: 'twilio',
  name: 'SMS with Twilio',
  help: 'Account SID and auth token are on the start page of the Twilio console.',
  settings: Settings({
    account_sid: Text('Account SID', { pattern: '^AC[0-9a-fA-F]{32}$', examples: [`AC${'0'.repeat(32)}`] }),
    auth_token: Secret('Auth token'),
    from: Text('From', {
      pattern: NUMBER,
      description: 'A number of yours, as +15551234567.',
      examples: ['+15551234567'],
    }),
    to: Text('To', { pattern: NUMBER, description: 'A number, as +15557654321.', examples: ['+15557654321'] }),
    api_url: ApiUrl(API),
  }),
  permanent: [400, 401, 403, 404],
  request: ({ title, link }, { account_sid, auth_token, from, to, api_url = API }) => {
    const text = `${cut(plain(title), Math.max(20, SMS - link.href.length - 1))} ${link.href}`
    return {
      url: at(api_url, `/2010-04-01/Accounts/${account_sid}/Messages.json`),
      headers: {
        authorization: `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ From: from, To: to, Body: text }).toString(),
    }
  },
})

/** One character outside the GSM alphabet would halve what fits into an SMS. */
const plain = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?')
