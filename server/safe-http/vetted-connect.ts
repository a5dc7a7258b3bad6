import net from 'node:net'
import tls from 'node:tls'
import type { buildConnector } from 'undici'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type Networks, refusalOf } from './addresses.ts'
import type { Connect } from './connections.ts'
import { tunnelTo } from './proxy-tunnel.ts'

/**
 * Every address of a name, IPv4 and IPv6; empty when it does not exist or has none.
 * Rejects with a sentence in plain words when no server could say.
 */
export type Lookup = (hostname: string, signal: AbortSignal) => Promise<string[]>

/** How far an exchange has come. */
export type Phase = 'name' | 'connect' | 'tls' | 'answer' | 'body'

/** What a connection tells the exchange it is opened for, and how that exchange gives up. */
export type Opening = {
  signal: AbortSignal
  entered(phase: Phase): void
  /** Asked once the connection stands: opening it may have taken long. */
  mayWrite?(): Promise<boolean>
}

/** The address, or one of the name's addresses, must not be connected to. The message says why. */
export class RefusedAddress extends Error {
  readonly refusal: FieldError

  constructor(refusal: FieldError) {
    super(refusal.text)
    this.refusal = refusal
  }
}
/** The name led to no address. The message says why. */
export class NameFailure extends Error {}
/** undici opens a connection for an exchange that has ended. */
export class Orphaned extends Error {}

/** Long enough for a handshake across the world, short enough to reach a second address within the deadline. */
const ADDRESS_ATTEMPT_MS = 5000

/** Further addresses of a name are not used. */
const ADDRESSES_TRIED = 8

type Deps = {
  lookup: Lookup
  allowedNetworks: Networks
  /** PEM. AuthoritativeClient to trust beside the usual ones. */
  authorities?: string | undefined
  /** Connections go through it, to the addresses that were vetted here. */
  proxy?: URL | undefined
}

/**
 * Opens connections only to addresses that were vetted: the name is looked up once, here, and what is connected to is the
 * address that was judged, so a name cannot change between the two. One refused address refuses the name.
 */
export function vettedConnector(deps: Deps): Connect {
  const trust = trustOf(deps.authorities)
  return (target, exchange, callback) => {
    if (exchange === undefined || exchange.signal.aborted) {
      callback(new Orphaned('the exchange is over'), null)
      return
    }
    vettedAddresses(target.hostname, deps, exchange)
      .then((addresses) => open(target, addresses, { trust, proxy: deps.proxy }, exchange))
      .then((socket) => unlessWithdrawn(socket, exchange))
      .then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
  }
}

async function unlessWithdrawn(socket: net.Socket, exchange: Opening): Promise<net.Socket> {
  if ((await exchange.mayWrite?.()) ?? true) return socket
  socket.destroy()
  throw new Orphaned('the exchange is over')
}

/** What the name leads to, all of it judged. Rejects with `RefusedAddress` or `NameFailure`. */
export async function vettedAddresses(hostname: string, deps: Deps, exchange: Opening): Promise<string[]> {
  const isLiteral = net.isIP(hostname) !== 0
  const addresses = isLiteral ? [hostname] : await resolved(hostname, deps.lookup, exchange)
  for (const address of addresses) {
    const refusal = refusalOf(address, deps.allowedNetworks)
    if (refusal !== null) throw new RefusedAddress(isLiteral ? refusal : refusedName(hostname))
  }
  return addresses.slice(0, ADDRESSES_TRIED)
}

/** Without the address: anyone who names a receiver is not told what the names of this network lead to. */
const refusedName = (host: string) => fieldError('host_not_public', { host })

async function resolved(hostname: string, lookup: Lookup, exchange: Opening): Promise<string[]> {
  exchange.entered('name')
  const addresses = await lookup(hostname.replace(/\.$/, ''), exchange.signal).catch((error: Error) => {
    throw new NameFailure(error.message)
  })
  if (addresses.length === 0) throw new NameFailure('the host name does not exist or has no address')
  return addresses
}

/** Rejects with the socket's error, and with `Orphaned` when the exchange ends before the connection stands. */
async function open(
  { hostname, protocol, port: given }: buildConnector.Options,
  addresses: string[],
  { trust, proxy }: { trust: tls.ConnectionOptions; proxy: URL | undefined },
  exchange: Opening,
): Promise<net.Socket> {
  if (exchange.signal.aborted) throw new Orphaned('the exchange is over')
  exchange.entered('connect')
  const isSecure = protocol === 'https:'
  const port = Number(given) || (isSecure ? 443 : 80)
  const tunnel = proxy && (await tunnelTo(proxy, addresses, port, exchange))
  const to = tunnel ? { socket: tunnel } : directlyTo(hostname, addresses, port)
  const socket = isSecure
    ? tls.connect({ ...to, ...nameFor(hostname), ...trust })
    : (tunnel ?? net.connect(to as net.NetConnectOpts))
  return await opened(socket, { isSecure, isConnected: tunnel !== undefined }, exchange)
}

function opened(
  socket: net.Socket,
  { isSecure, isConnected }: { isSecure: boolean; isConnected: boolean },
  exchange: Opening,
): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>()
  const abandon = () => socket.destroy(new Orphaned('the exchange is over'))
  const done = () => {
    exchange.signal.removeEventListener('abort', abandon)
    exchange.entered('answer')
    resolve(socket)
  }
  exchange.signal.addEventListener('abort', abandon)
  // This listener stays: an error that comes when nobody else listens any more would end the process.
  socket.on('error', (error) => {
    exchange.signal.removeEventListener('abort', abandon)
    reject(error)
  })
  if (isSecure && isConnected) exchange.entered('tls')
  else if (isSecure) socket.once('connect', () => exchange.entered('tls'))
  if (isConnected && !isSecure) done()
  else socket.once(isSecure ? 'secureConnect' : 'connect', done)
  return promise
}

function directlyTo(host: string, addresses: string[], port: number) {
  return {
    host,
    port,
    // Node asks this instead of the system; for a literal address it asks nobody.
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    noDelay: true,
  }
}

/** RFC 6066 section 3: an address is not a server name, and a trailing dot is no part of one. */
function nameFor(hostname: string): tls.ConnectionOptions {
  return net.isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : { host: hostname }
}

/** Read once: a hundred and fifty certificates are not parsed again for every connection. */
function trustOf(authorities: string | undefined): tls.ConnectionOptions {
  const ALPNProtocols = ['http/1.1']
  if (authorities === undefined) return { ALPNProtocols }
  return {
    ALPNProtocols,
    secureContext: tls.createSecureContext({ ca: [...tls.getCACertificates('default'), authorities] }),
  }
}

function answering(addresses: string[]): net.LookupFunction {
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all) callback(null, found)
    else callback(null, found[0]!.address, found[0]!.family)
  }
}
