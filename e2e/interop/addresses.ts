/** Each server has a loopback address of its own; the port is the same for all, as it is in the real DNS. */
export const ROOT = '127.0.53.1'
export const KNOT = '127.0.53.2'
export const NSD = '127.0.53.3'
export const UNBOUND = '127.0.53.4'
/** It listens on addresses that an interface really has, which of these is one. */
export const BIND = '127.0.0.1'
