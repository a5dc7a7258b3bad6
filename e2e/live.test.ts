import { expect, test } from 'vitest'
import type { LiveChange } from '#contract/dashboard.ts'
import type { Monitor } from '#contract/monitors.ts'
import { createApi } from '#server/testing/api-client.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

/** The changes that a page receives. `ended` resolves at the end of the stream. */
async function watch(url: string): Promise<{ changes: LiveChange[]; ended: Promise<void> }> {
  const response = await fetch(`${url}/dashboard/api/live`, { headers: { 'x-api-key': ADMIN_KEY } })
  const changes: LiveChange[] = []
  const read = async () => {
    let text = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part
      const messages = text.split('\n\n')
      text = messages.pop()!
      for (const message of messages) {
        const [, data] = message.match(/^event: change\ndata: (.*)$/) ?? []
        if (data) changes.push(JSON.parse(data))
      }
    }
  }
  return { changes, ended: read() }
}

test.each(['sqlite', 'postgres'] as const)(
  'an open page shows a change that another process found, and does not delay the stop of its server (%s)',
  async (engine) => {
    const { dns, settings } = await givenEnvironment(engine)
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const checking = await givenServer({ ...settings, ...ADMIN })
    const showing = await givenServer({ ...settings, ROLES: 'api' })
    const api = createApi(checking.url, ADMIN_KEY)
    const { body: monitor } = await api.post<Monitor>('/monitors', {
      full_domain: 'www.example.com',
      record_type: 'A',
      expected_value: ['192.0.2.1'],
    })
    const waitForState = (state: string) =>
      eventually(
        async () => (await api.get<Monitor>(`/monitors/${monitor.id}`)).body.state,
        (current) => current === state,
      )
    await waitForState('VALID')
    const { changes, ended } = await watch(showing.url)
    const isNotified = (change: LiveChange) => change.lists.includes('events') && change.monitors.includes(monitor.id)
    dns.set('www.example.com', 'A', ['192.0.2.99'])
    await api.post(`/monitors/${monitor.id}/check`)
    await waitForState('MISMATCH')
    await eventually(
      async () => changes,
      (received) => received.some(isNotified),
    )

    showing.send('SIGTERM')
    await ended
    expect(await showing.ended).toMatchObject({ code: 0 })
  },
)
