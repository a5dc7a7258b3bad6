/** Each server has its own loopback address. All use the same port, as in the real DNS. */
export const ROOT = '127.0.53.1'
export const KNOT = '127.0.53.2'
export const NSD = '127.0.53.3'
export const UNBOUND = '127.0.53.4'
/** BIND listens only on addresses of an interface. */
export const BIND = '127.0.0.1'
