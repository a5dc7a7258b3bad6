import type { SignedZone } from '../zones/sign.ts'
import type { Zone } from '../zones/zone.ts'

/** `zones`: where to ask for which names. `refused`: a name that it refuses to answer for. */
export type Recursive = {
  ip: string
  zones: readonly Omit<Zone, 'file'>[]
  anchors: readonly SignedZone[]
  refused: string
}
