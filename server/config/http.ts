import { parseInteger, parseLimit, parseOneOf, parseOrigins, parseProxies, type ReadSetting } from './parse.ts'

export function readHttpSettings(read: ReadSetting) {
  return {
    limits: {
      read: read('READ_LIMIT', '20', 'reads per minute and API key; 0 = no limit', parseLimit),
      page: read(
        'PAGE_LIMIT',
        '',
        'pages of lists after the first, per minute and API key; when empty they count as reads; 0 = no limit',
        orNull(parseLimit),
      ),
      write: read('WRITE_LIMIT', '5', 'writes per minute and API key; 0 = no limit', parseLimit),
      create: read('CREATE_LIMIT', '250', 'monitor creations per minute and API key; 0 = no limit', parseLimit),
      check: read(
        'CHECK_LIMIT',
        '',
        'POST /monitors/{monitor}/check and POST /zones/{zone}/check per minute and API key; when empty they count as writes; 0 = no limit',
        orNull(parseLimit),
      ),
      dashboard: read('DASHBOARD_LIMIT', '600', 'dashboard requests per minute and user; 0 = no limit', parseLimit),
      setup_page: read(
        'SETUP_PAGE_LIMIT',
        '60',
        'requests for setup pages per minute and client address; 0 = no limit',
        parseLimit,
      ),
    },
    keyLimitMax: read(
      'KEY_LIMIT_MAX',
      '600',
      'the highest limit per minute that an owner can set for one API key; 0 = any',
      parseLimit,
    ),
    maxWaiting: read(
      'WAITING_LIMIT',
      '1000',
      'monitors of an organization that wait at the same time, with until: valid; 1 to 10000',
      (text) => parseInteger(text, 1, 10_000),
    ),
    idempotencyBytes: read(
      'IDEMPOTENCY_BYTES',
      '67108864',
      'bytes of stored responses for Idempotency-Key per organization',
      (text) => parseInteger(text, 1_024, 1_000_000_000_000),
    ),
    signUp: read('SIGN_UP', 'off', 'open: anyone can sign up and create an organization', (text) =>
      parseOneOf(text, ['off', 'open'] as const),
    ),
    invitationLimit: read(
      'INVITATION_LIMIT',
      '50',
      'invitations per organization in 24 hours, resent ones included; 0 = no limit',
      parseLimit,
    ),
    corsOrigins: read(
      'CORS_ORIGINS',
      '',
      'origins that may call the API from a browser (CORS), comma-separated: https://status.example.com; * for all',
      parseOrigins,
    ),
    trustedProxies: read(
      'TRUSTED_PROXIES',
      '',
      'reverse proxies whose X-Forwarded-For and X-Forwarded-Host are trusted: CIDRs, comma-separated',
      parseProxies,
    ),
  }
}

const orNull =
  <T>(parse: (text: string) => T) =>
  (text: string): T | null =>
    text === '' ? null : parse(text)
