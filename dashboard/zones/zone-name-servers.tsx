import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Zone } from '#contract/zones.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Code, Fact, Facts, Section } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { refreshZones, zonePath } from './queries.ts'

/** The expected name servers, which somebody confirms once, and again after a move. */
export function ZoneNameServers({ zone }: { zone: Zone }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [isConfirming, setConfirming] = useState(false)
  const expected = zone.expected_name_servers
  if (expected === null) return null
  const current = zone.servers.map(({ name }) => name).sort()
  const isCurrent = current.join() === expected.join()
  const isOpen = zone.name_servers_confirmed === null || !isCurrent
  const confirm = async () => {
    await api.patch(zonePath(zone.id), { expected_name_servers: current })
    toast.done('Name servers confirmed.')
    void refreshZones(queries)
  }
  return (
    <Section
      title="Expected name servers"
      hint="A delegation to another one is a critical finding."
      actions={
        can('write') &&
        isOpen &&
        current.length > 0 && (
          <Button size="sm" onClick={() => setConfirming(true)}>
            Confirm the current ones…
          </Button>
        )
      }
    >
      <Facts>
        <Fact name="Expected">
          <Code>{expected.join(', ')}</Code>
        </Fact>
        {!isCurrent && current.length > 0 && (
          <Fact name="Current">
            <Code>{current.join(', ')}</Code>
          </Fact>
        )}
        <Fact name="Confirmed">
          {zone.name_servers_confirmed ? (
            <Time at={zone.name_servers_confirmed} />
          ) : (
            'Not yet: they were learned by the first look. Compare them with those of your provider.'
          )}
        </Fact>
      </Facts>
      <Confirm
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        title="Are these your name servers?"
        confirmLabel="Confirm"
        onConfirm={confirm}
      >
        {current.join(', ')}
      </Confirm>
    </Section>
  )
}
