import { ApiUrl, at, errorOf, httpMedium, jsonOf, Secret, Settings, Text } from './channel.ts'
import { slackMessage } from './slack.ts'

const API = 'https://slack.com/api'
/** Errors of Slack itself. All others are about the token, the channel or the message. */
const RETRIED = new Set(['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'ratelimited'])

/**
 * The Web API, which answers 200 with `ok` and the name of an error; 429 with `Retry-After`. With the channel and the `ts` of a message
 * an app replies in its thread and edits it, which incoming webhooks cannot.
 */
export const slackApp = httpMedium({
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
  permanent: [400, 401, 403, 404],
  request: (notice, { token, channel, api_url = API }) => {
    const { reference } = notice
    const thread = reference === undefined ? {} : { thread_ts: reference, reply_broadcast: true }
    return {
      url: at(api_url, '/chat.postMessage'),
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ channel, ...slackMessage(notice), ...thread, unfurl_links: false }),
    }
  },
  update: (notice, { token, channel, api_url = API }, ts) => ({
    url: at(api_url, '/chat.update'),
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ channel, ts, ...slackMessage(notice) }),
  }),
  // Before the message itself, which may be cut.
  referenceOf: ({ body }) => /"ts":\s*"([\d.]{1,30})"/.exec(body)?.[1],
  errorIn: ({ body }) => {
    const answer = jsonOf(body)
    if (answer?.ok !== false) return undefined
    return { ...errorOf('Slack', body, 'error'), status: RETRIED.has(String(answer.error)) ? 503 : 400 }
  },
})
