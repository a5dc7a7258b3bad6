import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Plan, Plans } from '../plan.ts'
import { DENIED_PORTS, type Networks } from '../safe-http/address-policy.ts'
import { readDnsSettings } from './dns.ts'
import { readHttpSettings } from './http.ts'
import { type OidcSettings, readOidcSettings } from './oidc.ts'
import { readOperationsSettings } from './operations.ts'
import {
  InvalidSetting,
  LOG_LEVELS,
  type LogLevel,
  parseAllowedNetworks,
  parseBaseUrl,
  parseCertificateAuthorities,
  parseDatabaseUrl,
  parseDataDir,
  parseHost,
  parseInteger,
  parseLimit,
  parseOneOf,
  parseOwnUrl,
  parsePlansSetting,
  parsePorts,
  parseProxy,
  parseRoles,
  parseSecret,
  parseSender,
  parseSmtpUrl,
  parseWorkers,
  type ReadSecret,
  type ReadSetting,
  ROLES,
  type Role,
} from './parse.ts'
import { findUnknownSettings, type UnknownSetting } from './unknown-settings.ts'
import { readWebhookSettings } from './webhooks.ts'

export type Config = ReturnType<typeof readDnsSettings> &
  ReturnType<typeof readHttpSettings> &
  ReturnType<typeof readWebhookSettings> &
  ReturnType<typeof readOperationsSettings> & {
    host: string
    port: number
    /** Without a slash at the end. */
    baseUrl: string
    /** Absolute. */
    dataDir: string
    /** `sqlite:<path>` or `postgres://…`. */
    databaseUrl: string
    /** A read replica of that PostgreSQL. Null: none. */
    databaseReadUrl: string | null
    roles: ReadonlySet<Role>
    /** Processes for checks and deliveries. 0: one process has all roles. */
    workers: number
    /** Null: generated once in the data folder. */
    secret: string | null
    /** Previous SECRETs, which still decrypt and verify what they encrypted and signed. */
    secretPrevious: string[]
    webhookAllowedNetworks: Networks
    webhookDeniedPorts: readonly number[]
    /** PEM: certificate authorities to trust in addition to the default ones. Null: none. */
    webhookAuthorities: string | null
    /** Null: webhook requests are sent directly. */
    webhookProxy: URL | null
    admin: { email: string; password: string; apiKey: string | null } | null
    plans: Plans
    /** Single sign-on. */
    oidc: OidcSettings
    /** Null: payments are off. */
    stripe: { secretKey: string; webhookSecret: string; apiBase: URL } | null
    /** Null: emails are logged and stored for the dashboard. */
    smtp: { url: string; from: string } | null
    /** In an hour. 0: no limit. */
    mailLimits: { address: number; organization: number; server: number }
    /** Every setting as text. Values of secrets are hidden. */
    lines: readonly SettingLine[]
    /** Variables of the environment that are probably mistyped settings. */
    unknownSettings: UnknownSetting[]
    /** The files of the `…_FILE` settings. */
    secretFiles: readonly string[]
    logLevel: LogLevel
    logFormat: 'pretty' | 'json'
  }

/** `errors`: a message for each invalid setting. */
export class InvalidConfig extends Error {
  readonly errors: Record<string, string>

  constructor(errors: Record<string, string>) {
    const lines = Object.entries(errors).map(([setting, message]) => `${setting} ${message}`)
    super(lines.join('\n'))
    this.errors = errors
  }
}

/** systemd sets NOTIFY_SOCKET for a unit with `Type=notify`. */
export const isStartedBySystemd = (environment: Environment = process.env) => Boolean(environment.NOTIFY_SOCKET)

/** For commands that are clients of a server: its address, a key, and the secrets that their files name. */
export const clientEnvironment = (environment: Environment = process.env): Environment => environment

type Environment = Readonly<Record<string, string | undefined>>
export type SettingLine = { name: string; value: string; isDefault: boolean; about: string }

/** Throws `InvalidConfig` with all invalid settings. The only reader of the environment. */
export function readConfig(environment: Environment = process.env): Config {
  return new SettingsReader(environment).config()
}

/** Reads one setting after the other, and collects the errors. */
class SettingsReader {
  readonly #lines: SettingLine[] = []
  readonly #secretFiles: string[] = []
  readonly #environment: Environment
  readonly #errors: Record<string, string> = {}

  constructor(environment: Environment) {
    this.#environment = environment
  }

  config(): Config {
    const read: ReadSetting = (...setting) => this.#read(...setting)
    const readSecret: ReadSecret = (...setting) => this.#secret(...setting)
    const host = this.#read('HOST', '127.0.0.1', 'the address to listen on; 0.0.0.0 for all interfaces', parseHost)
    const port = this.#read('PORT', '8080', 'the port to listen on', (text) => parseInteger(text, 1, 65_535))
    const isLocalIpv4 = host === '127.0.0.1' || host === '0.0.0.0'
    const urlHost = isLocalIpv4 ? 'localhost' : host.includes(':') ? `[${host}]` : host
    const baseUrl = this.#read(
      'BASE_URL',
      `http://${urlHost}:${port}`,
      'the URL under which people reach this server; used in links',
      parseOwnUrl,
    )
    const dataDir = this.#read(
      'DATA_DIR',
      './data',
      'the folder of the SQLite file and the generated secret',
      parseDataDir,
    )
    const databaseUrl = this.#read(
      'DATABASE_URL',
      `sqlite:${resolve(dataDir, 'zonewatch.db')}`,
      'sqlite:<file>, or postgres://user:password@host/database',
      parseDatabaseUrl,
    )
    const readUrl = this.#read(
      'DATABASE_READ_URL',
      '',
      'a streaming replica of the PostgreSQL in DATABASE_URL; lists are read from it',
      (text) => (text === '' ? '' : parseDatabaseUrl(text)),
    )
    const config: Config = {
      lines: this.#lines,
      unknownSettings: [],
      secretFiles: this.#secretFiles,
      host,
      port,
      baseUrl,
      dataDir,
      databaseUrl,
      databaseReadUrl: readUrl === '' ? null : readUrl,
      roles: this.#read('ROLES', ROLES.join(','), 'what this server runs: api, checker, delivery', parseRoles),
      workers: this.#read(
        'WORKERS',
        'auto',
        'worker processes for checks and deliveries; auto: CPU cores minus 1; 0: run them in the API process',
        parseWorkers,
      ),
      secret: this.#secret(
        'SECRET',
        'encrypts webhook secrets and signs cursors; generated once in DATA_DIR',
        parseSecret,
      ),
      secretPrevious: this.#secretPrevious(),
      ...readDnsSettings(read),
      webhookAllowedNetworks: this.#read(
        'WEBHOOK_ALLOWED_NETWORKS',
        '',
        'networks of private webhook receivers to allow: CIDRs, comma-separated',
        parseAllowedNetworks,
      ),
      webhookDeniedPorts: this.#read(
        'WEBHOOK_DENIED_PORTS',
        DENIED_PORTS.join(','),
        'ports that webhook URLs must not use, comma-separated; off for none',
        parsePorts,
      ),
      webhookAuthorities: this.#read(
        'WEBHOOK_CA_FILE',
        '',
        'a PEM file with additional certificate authorities to trust',
        parseCertificateAuthorities,
      ),
      webhookProxy: this.#webhookProxy(),
      ...readWebhookSettings(read),
      admin: this.#admin(),
      oidc: readOidcSettings(read, readSecret),
      plans: this.#plans(),
      stripe: this.#stripe(),
      smtp: this.#smtp(),
      mailLimits: this.#mailLimits(),
      ...readHttpSettings(read),
      ...readOperationsSettings(read, readSecret, host),
      logLevel: this.#read('LOG_LEVEL', 'info', `log level: ${LOG_LEVELS.join(', ')}`, (text) =>
        parseOneOf(text, LOG_LEVELS),
      ),
      logFormat: this.#read('LOG_FORMAT', process.stdout.isTTY ? 'pretty' : 'json', 'pretty or json', (text) =>
        parseOneOf(text, ['pretty', 'json'] as const),
      ),
    }
    const isPostgres = databaseUrl.startsWith('postgres')
    if (isPostgres && config.secret === null) {
      this.#errors.SECRET ??=
        'is required with PostgreSQL, because all nodes share it. Set it to at least 32 random characters.'
    }
    if (readUrl !== '' && !(readUrl.startsWith('postgres') && isPostgres)) {
      this.#errors.DATABASE_READ_URL ??= 'is for a replica of PostgreSQL. Set DATABASE_URL to its primary.'
    }
    if (isPostgres && config.backupDir !== null) {
      this.#errors.BACKUP_DIR ??=
        'is for SQLite; back up PostgreSQL with its own tools: docs/guides/back-up-and-restore.md.'
    }
    const { metricsPort } = config
    if (metricsPort?.port === port && config.roles.has('api') && isSameAddress(metricsPort.host, host)) {
      this.#errors.METRICS_PORT ??= `is the port of the API too: ${port}. Set METRICS_PORT or PORT to another one.`
    }
    if (Object.keys(this.#errors).length > 0) throw new InvalidConfig(this.#errors)
    const known = this.#lines.map(({ name }) => name)
    return { ...config, unknownSettings: findUnknownSettings(Object.keys(this.#environment), known) }
  }

  #secretPrevious(): string[] {
    const lines = (text: string) => text.split(/\r?\n/).filter((line) => line.trim() !== '')
    const about = 'previous SECRET, during a rotation: what it encrypted and signed stays valid; several: one per line'
    const text = this.#secret('SECRET_PREVIOUS', about, (value) => lines(value).map(parseSecret).join('\n'))
    return text === null ? [] : lines(text)
  }

  #plans(): Plans {
    const webhooks = this.#read(
      'WEBHOOKS_PER_ORGANIZATION',
      '1000',
      'webhooks per organization, if the plan sets no limit; 0 = no limit',
      parseLimit,
    )
    const plans = this.#read('PLANS', '', 'the plans you sell, as JSON; self-hosted when empty', parsePlansSetting)
    if (webhooks === 0) return plans
    const withWebhookLimit = (plan: Plan): Plan => ({
      ...plan,
      limits: { ...plan.limits, webhooks: plan.limits.webhooks ?? webhooks },
    })
    const [first, ...others] = plans
    return [withWebhookLimit(first), ...others.map(withWebhookLimit)]
  }

  #webhookProxy(): URL | null {
    const about = 'an HTTP proxy for webhook requests: http://user:password@proxy.example:3128'
    const text = this.#secret('WEBHOOK_PROXY', about, parseProxy)
    return text === null ? null : new URL(text)
  }

  #admin(): Config['admin'] {
    const email = this.#read(
      'ADMIN_EMAIL',
      '',
      'email address of the first owner, created once in an empty database',
      (text) => {
        if (text !== '' && !/^[^\s@]+@[^\s@]+$/.test(text)) throw new InvalidSetting('is not an email address.')
        return text
      },
    )
    const password = this.#secret('ADMIN_PASSWORD', "the first owner's password", (text) => {
      if (text.length < 8) throw new InvalidSetting('must have at least 8 characters.')
      return text
    })
    const apiKey = this.#secret('ADMIN_API_KEY', 'the first API key: zw_ and 43 letters or digits', (text) => {
      if (!/^zw_[0-9A-Za-z]{43}$/.test(text)) throw new InvalidSetting('must be zw_ followed by 43 letters or digits.')
      return text
    })
    if (email === '' && password === null && apiKey === null) return null
    if (email === '') this.#errors.ADMIN_EMAIL ??= 'is required together with ADMIN_PASSWORD and ADMIN_API_KEY.'
    if (password === null) this.#errors.ADMIN_PASSWORD ??= 'is required together with ADMIN_EMAIL.'
    return { email, password: password ?? '', apiKey }
  }

  #stripe(): Config['stripe'] {
    const secretKey = this.#secret('STRIPE_SECRET_KEY', 'Stripe API key; turns on payments', (text) => text)
    const webhookSecret = this.#secret(
      'STRIPE_WEBHOOK_SECRET',
      "verifies the signatures of Stripe's webhooks (whsec_…)",
      (text) => text,
    )
    const apiBase = this.#read(
      'STRIPE_API_BASE',
      'https://api.stripe.com',
      "the base URL of Stripe's API",
      parseBaseUrl,
    )
    if (secretKey === null && webhookSecret === null) return null
    if (secretKey === null) this.#errors.STRIPE_SECRET_KEY ??= 'is required together with STRIPE_WEBHOOK_SECRET.'
    if (webhookSecret === null) this.#errors.STRIPE_WEBHOOK_SECRET ??= 'is required together with STRIPE_SECRET_KEY.'
    return { secretKey: secretKey ?? '', webhookSecret: webhookSecret ?? '', apiBase: new URL(apiBase) }
  }

  #smtp(): Config['smtp'] {
    const url = this.#secret('SMTP_URL', 'the mail server: smtp://user:password@host:587, or smtps://', parseSmtpUrl)
    const from = this.#read('MAIL_FROM', '', 'the sender: alerts@example.com, or Zonewatch <…>', parseSender)
    if (url === null) return null
    if (from === '') this.#errors.MAIL_FROM ??= 'is required together with SMTP_URL.'
    return { url, from }
  }

  #mailLimits(): Config['mailLimits'] {
    const read = (name: string, preset: string, what: string) =>
      this.#read(name, preset, `mails of organizations in an hour ${what}; the others wait; 0 = no limit`, parseLimit)
    return {
      address: read('MAIL_ADDRESS_LIMIT', '100', 'to one address'),
      organization: read('MAIL_ORGANIZATION_LIMIT', '2000', 'for one organization'),
      server: read('MAIL_SERVER_LIMIT', '20000', 'in total'),
    }
  }

  #read<T>(name: string, preset: string, about: string, parse: (text: string) => T): T {
    const value = this.#find(name)
    const text = value ?? preset
    this.#lines.push({ name, value: withoutPassword(text), isDefault: value === undefined, about })
    return this.#parse(name, text, parse) ?? parse(preset)
  }

  #secret(name: string, about: string, parse: (text: string) => string): string | null {
    const value = this.#find(name)
    const file = this.#environment[`${name}_FILE`]
    if (file) this.#secretFiles.push(resolve(file))
    this.#lines.push({ name, value: value === undefined ? '' : '(hidden)', isDefault: value === undefined, about })
    return value === undefined ? null : (this.#parse(name, value, parse) ?? null)
  }

  #parse<T>(name: string, text: string, parse: (text: string) => T): T | undefined {
    try {
      return parse(text)
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error
      this.#errors[name] ??= error.message
      return undefined
    }
  }

  /** The setting, or the content of the file in `<name>_FILE`. An empty setting counts as not set. */
  #find(name: string): string | undefined {
    const path = this.#environment[`${name}_FILE`]
    if (!path) return this.#environment[name] || undefined
    if (this.#environment[name]) this.#errors[name] = `and ${name}_FILE are both set. Set only one.`
    try {
      return readFileSync(path, 'utf8').trim() || undefined
    } catch {
      this.#errors[`${name}_FILE`] = `names a file that cannot be read: ${path}.`
      return undefined
    }
  }
}

const isSameAddress = (one: string, other: string) =>
  one === other || [one, other].some((host) => host === '0.0.0.0' || host === '::')

/** URLs of databases and mail servers can contain a password. */
function withoutPassword(text: string): string {
  return text.replace(/(\/\/[^/@\s:]*:)[^/\s]*@/g, '$1(hidden)@').replace(/([?&]password=)[^&\s]*/g, '$1(hidden)')
}
