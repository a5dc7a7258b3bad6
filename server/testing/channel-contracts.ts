import type { ChannelType } from '#contract/alerts.ts'

export const TOKEN = 'secret-token-of-the-test-0000000'

type ProviderContract = {
  /** `url` of the receiver. */
  settings: (url: string) => Record<string, unknown>
  /** The encrypted settings. */
  secrets: string[]
  accepts: { status: number; body?: string }
  revoked: { status: number; body?: string }
  limited: { status: number; headers?: Record<string, string>; body?: string }
}

const WEBHOOK_SETTINGS = (url: string) => ({ webhook_url: `${url}/hooks/${TOKEN}` })
const LIMITED = { status: 429, headers: { 'retry-after': '30' } }

/** The responses that the providers document. */
export const CONTRACTS: Record<Exclude<ChannelType, 'email'>, ProviderContract> = {
  slack: {
    settings: WEBHOOK_SETTINGS,
    secrets: [TOKEN],
    accepts: { status: 200, body: 'ok' },
    revoked: { status: 403, body: 'invalid_token' },
    limited: LIMITED,
  },
  slack_app: {
    settings: (url) => ({ token: `xoxb-${TOKEN}`, channel: 'C0123456789', api_url: `${url}/api` }),
    secrets: [TOKEN],
    accepts: {
      status: 200,
      body: '{"ok":true,"channel":"C0123456789","ts":"1503435956.000247","message":{"text":"…","ts":"1"}}',
    },
    revoked: { status: 200, body: '{"ok":false,"error":"token_revoked"}' },
    limited: LIMITED,
  },
  discord: {
    settings: WEBHOOK_SETTINGS,
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"type":0,"embeds":[],"id":"1127","channel_id":"3","author":{"id":"2"}}' },
    revoked: { status: 404, body: '{"message": "Unknown Webhook", "code": 10015}' },
    limited: { status: 429, body: '{"message": "You are being rate limited.", "retry_after": 30.5, "global": false}' },
  },
  teams: {
    settings: WEBHOOK_SETTINGS,
    secrets: [TOKEN],
    accepts: { status: 202 },
    revoked: { status: 404 },
    limited: LIMITED,
  },
  telegram: {
    settings: (url) => ({ token: `123456:${TOKEN}`, chat_id: '-100123', api_url: url }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"ok": true, "result": {"message_id": 42, "chat": {"id": -100123}}}' },
    revoked: { status: 401, body: '{"ok": false, "error_code": 401, "description": "Unauthorized"}' },
    limited: { status: 429, body: '{"ok": false, "error_code": 429, "parameters": {"retry_after": 30}}' },
  },
  pagerduty: {
    settings: (url) => ({ routing_key: 'A'.repeat(32), api_url: url }),
    secrets: ['A'.repeat(32)],
    accepts: { status: 202, body: '{"status": "success", "dedup_key": "k"}' },
    revoked: { status: 400, body: '{"status": "invalid event"}' },
    limited: LIMITED,
  },
  opsgenie: {
    settings: (url) => ({ api_key: TOKEN, api_url: url }),
    secrets: [TOKEN],
    accepts: { status: 202, body: '{"result": "Request will be processed"}' },
    revoked: { status: 403 },
    limited: LIMITED,
  },
  ntfy: {
    settings: (url) => ({ topic: 'ops', token: TOKEN, api_url: url }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{}' },
    revoked: { status: 403, body: '{"code": 40301, "http": 403, "error": "forbidden"}' },
    limited: { status: 429, body: '{"code": 42901, "http": 429, "error": "limit reached: too many requests"}' },
  },
  pushover: {
    settings: (url) => ({ token: TOKEN, user: `user-${TOKEN}`, api_url: url }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"status": 1}' },
    revoked: { status: 400, body: '{"token": "invalid", "status": 0}' },
    limited: LIMITED,
  },
  mattermost: {
    settings: WEBHOOK_SETTINGS,
    secrets: [TOKEN],
    accepts: { status: 200, body: 'ok' },
    revoked: { status: 400, body: '{"id": "web.incoming_webhook.invalid.app_error", "status_code": 400}' },
    limited: LIMITED,
  },
  google_chat: {
    settings: (url) => ({ webhook_url: `${url}/v1/spaces/AAAA/messages?key=k&token=${TOKEN}` }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{}' },
    revoked: { status: 403, body: '{"error": {"code": 403, "status": "PERMISSION_DENIED"}}' },
    limited: { status: 429, body: '{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}' },
  },
  matrix: {
    settings: (url) => ({ homeserver: url, access_token: TOKEN, room_id: '!xxxx:example.org' }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"event_id": "$1"}' },
    revoked: { status: 401, body: '{"errcode": "M_UNKNOWN_TOKEN"}' },
    limited: { status: 429, body: '{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 30000}' },
  },
  twilio: {
    settings: (url) => ({
      account_sid: `AC${'0'.repeat(32)}`,
      auth_token: TOKEN,
      from: '+15551234567',
      to: '+15557654321',
      api_url: url,
    }),
    secrets: [TOKEN],
    accepts: { status: 201, body: '{"sid": "SM1"}' },
    revoked: { status: 401, body: '{"code": 20003}' },
    limited: { status: 429, body: '{"code": 20429}' },
  },
  http: {
    settings: (url) => ({ endpoint: `${url}/alerts`, authorization: `Bearer ${TOKEN}` }),
    secrets: [TOKEN],
    accepts: { status: 200 },
    revoked: { status: 410 },
    limited: LIMITED,
  },
}

export const HTTP_TYPES = Object.keys(CONTRACTS) as (keyof typeof CONTRACTS)[]
