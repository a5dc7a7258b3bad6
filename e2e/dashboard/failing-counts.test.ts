import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '#server/testing/test-server.ts'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard({ DASHBOARD_LIMIT: '5000' })

const WHERE = '3 in 2 open incidents (1 acknowledged), 1 awaited, 1 never valid.'
const SENTENCE = `5 of 6 active monitors are failing: ${WHERE}`

test('overview, list, incidents and alerts count the same failures, and say where they are', async () => {
  const { page, dns, server } = await givenOwner()
  const { send, states } = clientOf(page, server.url)
  const names = ['a.shop.example', 'b.shop.example', 'paused.shop.example', 'c.other.example', 'good.example']
  for (const name of names) dns.set(name, 'A', ['192.0.2.1'])
  dns.set('never.example', 'A', ['192.0.2.9'])
  const record = (full_domain: string) => ({ full_domain, record_type: 'A', expected_value: ['192.0.2.1'] })
  const created = await send('POST', '/monitors/bulk', { monitors: [...names, 'never.example'].map(record) })
  await send('POST', '/monitors', { ...record('waiting.example'), until: 'valid' })
  await eventually(states, (found) => isDeepStrictEqual(found, { VALID: 5, MISMATCH: 1, NOT_FOUND: 1 }))

  // Wrong records that are the same would make one incident of both domains.
  for (const name of names.slice(0, 3)) dns.set(name, 'A', ['192.0.2.7'])
  dns.set(names[3]!, 'A', ['192.0.2.8'])
  const ids = (created as { id: string }[]).map(({ id }) => id)
  await Promise.all(ids.slice(0, 4).map((id) => send('POST', `/monitors/${id}/check`)))
  type Incidents = { data: { id: string; zone: string; failing: number }[] }
  const incidents = async () => ((await send('GET', '/incidents')) as Incidents).data
  const failing = async () => (await incidents()).map(({ failing }) => failing).sort()
  await eventually(failing, (counts) => isDeepStrictEqual(counts, [1, 3]))
  await send('PATCH', `/monitors/${ids[2]}`, { is_active: false })
  await eventually(failing, (counts) => isDeepStrictEqual(counts, [1, 2]))
  const other = (await incidents()).find(({ zone }) => zone === 'other.example')!
  await send('PATCH', `/incidents/${other.id}`, { acknowledged: true })

  await page.goto('/dashboard')
  await page.getByRole('heading', { name: '5 monitors are failing', exact: true }).waitFor()
  await page.getByText(WHERE).waitFor()
  await page.getByText('A monitor that was never valid opens no incident.').waitFor()
  await page.getByText('Not found, awaited').waitFor()

  await page.goto('/dashboard/monitors')
  await page.getByText(SENTENCE).waitFor()
  const chips = page.getByRole('group', { name: 'Show by state' }).getByRole('button')
  expect(await chips.allInnerTexts()).toEqual(['All\n7', 'Mismatch\n4', 'Not found\n1', 'Valid\n1', 'Disabled\n1'])

  for (const tab of ['incidents', 'log']) {
    await page.goto(`/dashboard/alerts?tab=${tab}`)
    await page.getByText(SENTENCE).waitFor()
  }
  await page.goto('/dashboard/alerts')
  await page.getByRole('cell', { name: '2 of 3 failing' }).waitFor()
  await page.getByRole('cell', { name: '1', exact: true }).waitFor()
  await page.getByText('A monitor that was never valid opens no incident.').waitFor()
  for (const [status, count] of [
    ['Open', 1],
    ['Acknowledged', 1],
  ] as const)
    expect(await page.getByText(status, { exact: true }).count()).toBe(count)
})

/** Requests of the signed-in window. */
function clientOf(page: Page, origin: string) {
  const send = async (method: string, path: string, data?: object): Promise<unknown> => {
    const answer = await page.request.fetch(path, { method, headers: { origin }, ...(data && { data }) })
    expect(answer.ok(), await answer.text()).toBe(true)
    return await answer.json()
  }
  const states = async () => ((await send('GET', '/monitors/counts')) as { states: object }).states
  return { send, states }
}
