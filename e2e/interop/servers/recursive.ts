import type { SignedZone } from '../zones/sign.ts'
import type { Zone } from '../zones/zone.ts'

/** `zones`: the zones and their servers. `refused`: a name that the server refuses. */
export type Recursive = {
  ip: string
  zones: readonly Omit<Zone, 'file'>[]
  anchors: readonly SignedZone[]
  refused: string
}
