import type { ZoneFindingCode } from '#contract/zone-codes.ts'
import { dnssecBogus } from './checks/dnssec-bogus.ts'
import { dnssecPartlyBogus } from './checks/dnssec-partly-bogus.ts'
import { dsSha1Only } from './checks/ds-sha1-only.ts'
import { dsWithoutKey } from './checks/ds-without-key.ts'
import { glueDiffers } from './checks/glue-differs.ts'
import { nameServerLame } from './checks/name-server-lame.ts'
import { nameServerRefuses } from './checks/name-server-refuses.ts'
import { nameServerSilent } from './checks/name-server-silent.ts'
import { nameServerWithoutAddress } from './checks/name-server-without-address.ts'
import { nameServerWithoutTcp } from './checks/name-server-without-tcp.ts'
import { nameServersDiffer } from './checks/name-servers-differ.ts'
import { nameServersDisjoint } from './checks/name-servers-disjoint.ts'
import { noNameServerAnswers } from './checks/no-name-server-answers.ts'
import { notAZone } from './checks/not-a-zone.ts'
import { nsec3Iterations } from './checks/nsec3-iterations.ts'
import { oldAlgorithm } from './checks/old-algorithm.ts'
import { registrarChanged, registrationUnlocked } from './checks/registration-changes.ts'
import {
  registrationExpired,
  registrationExpires1Day,
  registrationExpires7Days,
  registrationExpires14Days,
  registrationExpires30Days,
} from './checks/registration-expires.ts'
import { registrationOnHold, registrationPendingDelete, registrationRedemption } from './checks/registration-status.ts'
import { registryDsDiffers, registryNameServersDiffer } from './checks/registry-differs.ts'
import { sameSerialDiffers } from './checks/same-serial-differs.ts'
import { secondaryExpires } from './checks/secondary-expires.ts'
import { serialBehind } from './checks/serial-behind.ts'
import { serialWentBack } from './checks/serial-went-back.ts'
import { signaturesExpire } from './checks/signatures-expire.ts'
import { singleNameServer } from './checks/single-name-server.ts'
import { singleNetwork } from './checks/single-network.ts'
import { unexpectedNameServer } from './checks/unexpected-name-server.ts'
import { zoneGone } from './checks/zone-gone.ts'
import type { ZoneFacts } from './facts.ts'
import type { ZoneMemory } from './memory.ts'
import type { Found, Unknown, ZoneCheck } from './zone-check.ts'

/** Every check, by the code of its findings. */
export const ZONE_CHECKS: Readonly<Record<ZoneFindingCode, ZoneCheck>> = {
  zone_gone: zoneGone,
  not_a_zone: notAZone,
  no_name_server_answers: noNameServerAnswers,
  unexpected_name_server: unexpectedNameServer,
  name_servers_differ: nameServersDiffer,
  name_servers_disjoint: nameServersDisjoint,
  glue_differs: glueDiffers,
  name_server_lame: nameServerLame,
  name_server_refuses: nameServerRefuses,
  name_server_silent: nameServerSilent,
  name_server_without_address: nameServerWithoutAddress,
  name_server_without_tcp: nameServerWithoutTcp,
  single_name_server: singleNameServer,
  single_network: singleNetwork,
  serial_behind: serialBehind,
  serial_went_back: serialWentBack,
  same_serial_differs: sameSerialDiffers,
  secondary_expires: secondaryExpires,
  dnssec_bogus: dnssecBogus,
  dnssec_partly_bogus: dnssecPartlyBogus,
  signatures_expire: signaturesExpire,
  ds_sha1_only: dsSha1Only,
  ds_without_key: dsWithoutKey,
  old_algorithm: oldAlgorithm,
  nsec3_iterations: nsec3Iterations,
  registration_expires_30_days: registrationExpires30Days,
  registration_expires_14_days: registrationExpires14Days,
  registration_expires_7_days: registrationExpires7Days,
  registration_expires_1_day: registrationExpires1Day,
  registration_expired: registrationExpired,
  registration_on_hold: registrationOnHold,
  registration_redemption: registrationRedemption,
  registration_pending_delete: registrationPendingDelete,
  registration_unlocked: registrationUnlocked,
  registrar_changed: registrarChanged,
  registry_name_servers_differ: registryNameServersDiffer,
  registry_ds_differs: registryDsDiffers,
}

export type Result = { code: ZoneFindingCode } & (Found<object> | Unknown)

/** `isUnknown`: the look says nothing of this code. */
export type CheckResults = { results: Result[]; unknown: ReadonlySet<ZoneFindingCode> }

/** Runs all checks over one look. `memory`: after the look. Pure. */
export function runChecks(facts: ZoneFacts, memory: ZoneMemory, expected: readonly string[]): CheckResults {
  const { zone, delegation, servers } = facts
  const results: Result[] = []
  const unknown = new Set<ZoneFindingCode>()
  for (const check of Object.values(ZONE_CHECKS)) {
    const { code } = check
    if (delegation) {
      const found = check.find({ zone, facts: { ...facts, delegation }, servers, memory, expected })
      results.push(...found.map((each) => ({ code, ...each })))
    } else if (check.findUndelegated) {
      results.push(...check.findUndelegated(facts, memory.wasDelegated).map((each) => ({ code, ...each })))
    } else unknown.add(code)
  }
  return { results, unknown }
}
