import { ApiUrl, httpChannelType, joinUrl, providerError, Secret, Settings, Text } from './channel-type.ts'
import { slackMessage } from './slack.ts'

const API = 'https://slack.com/api'
/** Faults of Slack itself. All other errors are about the token, the channel or the message. */
const RETRIED_ERRORS = new Set([
  ...['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'ratelimited'],
])

/**
 * The Web API, which responds with 200, `ok` and the name of an error; 429 with `Retry-After`. An app can reply in the thread of a
 * message and edit the message, by its channel and `ts`. Incoming webhooks cannot.
 */
export const slackApp = httpChannelType({
  type: 'slack_app',
  name: 'Slack app (threads)',
  help: 'In Slack, create an app with the bot scope “chat:write”, install it, copy its bot token, and invite it to the channel. A recovery edits the first message and replies in its thread.',
  settings: Settings({
    token: Secret('Bot token', { pattern: '^xoxb-[A-Za-z0-9-]+$', examples: ['xoxb-0000-0000-XXXX'] }),
    channel: Text('Channel id', {
      pattern: '^[CG][A-Z0-9]{2,20}$',
      description: 'An id such as C0123456789, at the end of the details of the channel.',
      examples: ['C0123456789'],
    }),
    api_url: ApiUrl(API),
  }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { token, channel, api_url = API }) => {
    const { reference } = message
    const thread = reference === undefined ? {} : { thread_ts: reference, reply_broadcast: true }
    return {
      url: joinUrl(api_url, '/chat.postMessage'),
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ channel, ...slackMessage(message), ...thread, unfurl_links: false }),
    }
  },
  update: (message, { token, channel, api_url = API }, ts) => ({
    url: joinUrl(api_url, '/chat.update'),
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ channel, ts, ...slackMessage(message) }),
  }),
  // `ts` precedes the message in the body, which may be truncated and so be no JSON.
  findReference: ({ body }) => /"ts":\s*"([\d.]{1,30})"/.exec(body)?.[1],
  findError: (response) => {
    const { ok, error } = response.json
    if (ok !== false) return undefined
    return { ...providerError('Slack', response, 'error'), status: RETRIED_ERRORS.has(String(error)) ? 503 : 400 }
  },
})
