import net from 'node:net'
import tls from 'node:tls'
import type { buildConnector } from 'undici'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { addressError, type Networks } from './address-policy.ts'
import type { Connect } from './connections.ts'
import { skipContinue } from './interim-responses.ts'
import { tunnelTo } from './proxy-tunnel.ts'

/** All IPv4 and IPv6 addresses of a name; empty if it has none. Rejects with the reason if it cannot be resolved. */
export type Lookup = (hostname: string, signal: AbortSignal) => Promise<string[]>

/** The phases of an exchange, in their order. */
export type Phase = 'name' | 'connect' | 'tls' | 'answer' | 'body'

/** The exchange that a connection is opened for. Aborting `signal` closes the connection. */
export type ConnectionAttempt = {
  signal: AbortSignal
  enterPhase(phase: Phase): void
  /** Called when the connection is open, which may have taken long. */
  mayWrite?(): Promise<boolean>
}

/** The address, or an address of the name, is not allowed. The message says why. */
export class RefusedAddress extends Error {
  readonly refusal: FieldError

  constructor(refusal: FieldError) {
    super(refusal.text)
    this.refusal = refusal
  }
}
/** The name has no address or cannot be resolved. The message says why. */
export class NameFailure extends Error {}
/** The exchange ended before its connection was open. */
export class ExchangeEnded extends Error {}

/** Long enough for a distant handshake, short enough to try a second address within the deadline. */
const ADDRESS_ATTEMPT_MS = 5000

/** Further addresses of a name are not used. */
const MAX_ADDRESSES = 8

type Deps = {
  lookup: Lookup
  allowedNetworks: Networks
  /** PEM. Additional certificate authorities. */
  authorities?: string | undefined
  /** An HTTP proxy for all connections. */
  proxy?: URL | undefined
}

/**
 * Opens connections only to vetted addresses. It resolves the name once and connects to the address that it checked, so that
 * the name cannot change in between. One refused address refuses the name.
 */
export function vettedConnector(deps: Deps): Connect {
  const trust = trustOptions(deps.authorities)
  return (target, exchange, callback) => {
    if (exchange === undefined || exchange.signal.aborted) {
      callback(new ExchangeEnded('the exchange is over'), null)
      return
    }
    vettedAddresses(target.hostname, deps, exchange)
      .then((addresses) => open(target, addresses, { trust, proxy: deps.proxy }, exchange))
      .then((socket) => confirmWrite(socket, exchange))
      .then(
        (socket) => callback(null, skipContinue(socket)),
        (error: Error) => callback(error, null),
      )
  }
}

async function confirmWrite(socket: net.Socket, exchange: ConnectionAttempt): Promise<net.Socket> {
  if ((await exchange.mayWrite?.()) ?? true) return socket
  socket.destroy()
  throw new ExchangeEnded('the exchange is over')
}

/** The checked addresses of the name. Rejects with `RefusedAddress` or `NameFailure`. */
export async function vettedAddresses(hostname: string, deps: Deps, exchange: ConnectionAttempt): Promise<string[]> {
  const isLiteral = net.isIP(hostname) !== 0
  const addresses = isLiteral ? [hostname] : await resolveName(hostname, deps.lookup, exchange)
  for (const address of addresses) {
    const refusal = addressError(address, deps.allowedNetworks)
    if (refusal !== null) throw new RefusedAddress(isLiteral ? refusal : refusedName(hostname))
  }
  return addresses.slice(0, MAX_ADDRESSES)
}

/** Without the address, so that users learn nothing about the names of the internal network. */
const refusedName = (host: string) => fieldError('host_not_public', { host })

async function resolveName(hostname: string, lookup: Lookup, exchange: ConnectionAttempt): Promise<string[]> {
  exchange.enterPhase('name')
  const addresses = await lookup(hostname.replace(/\.$/, ''), exchange.signal).catch((error: Error) => {
    throw new NameFailure(error.message)
  })
  if (addresses.length === 0) throw new NameFailure('the host name does not exist or has no address')
  return addresses
}

/** Rejects with the socket's error, and with `ExchangeEnded` if the exchange ends before the connection is open. */
async function open(
  { hostname, protocol, port: explicitPort }: buildConnector.Options,
  addresses: string[],
  { trust, proxy }: { trust: tls.ConnectionOptions; proxy: URL | undefined },
  exchange: ConnectionAttempt,
): Promise<net.Socket> {
  if (exchange.signal.aborted) throw new ExchangeEnded('the exchange is over')
  exchange.enterPhase('connect')
  const isSecure = protocol === 'https:'
  const port = Number(explicitPort) || (isSecure ? 443 : 80)
  const tunnel = proxy && (await tunnelTo(proxy, addresses, port, exchange))
  const to = tunnel ? { socket: tunnel } : directOptions(hostname, addresses, port)
  const socket = isSecure
    ? tls.connect({ ...to, ...serverNameOptions(hostname), ...trust })
    : (tunnel ?? net.connect(to as net.NetConnectOpts))
  return await untilOpen(socket, { isSecure, isConnected: tunnel !== undefined }, exchange)
}

function untilOpen(
  socket: net.Socket,
  { isSecure, isConnected }: { isSecure: boolean; isConnected: boolean },
  exchange: ConnectionAttempt,
): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>()
  const abandon = () => socket.destroy(new ExchangeEnded('the exchange is over'))
  const done = () => {
    exchange.signal.removeEventListener('abort', abandon)
    exchange.enterPhase('answer')
    resolve(socket)
  }
  exchange.signal.addEventListener('abort', abandon)
  // This listener stays: an error without a listener would end the process.
  socket.on('error', (error) => {
    exchange.signal.removeEventListener('abort', abandon)
    reject(error)
  })
  if (isSecure && isConnected) exchange.enterPhase('tls')
  else if (isSecure) socket.once('connect', () => exchange.enterPhase('tls'))
  if (isConnected && !isSecure) done()
  else socket.once(isSecure ? 'secureConnect' : 'connect', done)
  return promise
}

function directOptions(host: string, addresses: string[], port: number) {
  return {
    host,
    port,
    // Replaces the lookup of the system. Node does not call it for an address.
    lookup: staticLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    noDelay: true,
  }
}

/** RFC 6066 section 3: a server name is not an address and has no trailing dot. */
function serverNameOptions(hostname: string): tls.ConnectionOptions {
  return net.isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : { host: hostname }
}

/** Call it once, because it parses about 150 certificates. */
function trustOptions(authorities: string | undefined): tls.ConnectionOptions {
  const ALPNProtocols = ['http/1.1']
  if (authorities === undefined) return { ALPNProtocols }
  return {
    ALPNProtocols,
    secureContext: tls.createSecureContext({ ca: [...tls.getCACertificates('default'), authorities] }),
  }
}

function staticLookup(addresses: string[]): net.LookupFunction {
  const entries = addresses.map((address) => ({ address, family: net.isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, entries)
    else callback(null, entries[0]!.address, entries[0]!.family)
  }
}
