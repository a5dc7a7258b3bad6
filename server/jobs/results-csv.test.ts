import papaparse from 'papaparse'
import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'

const rowsOf = (csv: string) => papaparse.parse<Record<string, string>>(csv.trimEnd(), { header: true }).data

onBothEngines('GET /dashboard/api/jobs/{job}/results.csv', (_fresh, engine) => {
  test('has all results of a job, or those of one state, with codes and reasons', async () => {
    const world = await givenApp(engine)
    const { run } = givenJobs(world)
    const ids = await givenMonitors(world, 620)
    const mx = { record_type: 'MX', expected_value: '10 mail.example.com' }
    await world.call(`/monitors/${ids[3]}`, { method: 'PATCH', body: mx })
    const job = await run({ action: 'update', all: true, change: { expected_value: ['192.0.2.2'] } })
    expect(job).toMatchObject({ changed: 619, failed: 1 })
    const path = `/dashboard/api/jobs/${job.id}/results.csv`
    const all = await world.call(path)
    expect([all.headers['content-type'], all.headers['content-disposition']]).toEqual([
      'text/csv; charset=utf-8',
      'attachment; filename="results.csv"',
    ])
    expect(rowsOf(all.text).map(({ id }) => id)).toEqual(ids)
    expect(rowsOf(all.text)[0]).toEqual({
      ...{ id: ids[0], name: 'n0.example.com A', state: 'changed', code: '', error: '', fields: '' },
      ...{ before: '{"expected_value":["192.0.2.1"]}', after: '{"expected_value":["192.0.2.2"]}' },
    })
    const failed = rowsOf((await world.call(`${path}?state=failed`)).text)
    expect(failed).toEqual([
      expect.objectContaining({ id: ids[3], name: 'n3.example.com MX', state: 'failed', code: 'invalid_change' }),
    ])
    expect(failed[0]!.error).not.toBe('')
    expect(failed[0]!.fields).toMatch(/^expected_value\.0 \(\w+\): /)
    expect((await world.call(`${path}?state=lost`)).status).toBe(400)
    const { key } = await world.organization('Other')
    expect((await world.call(path, { key })).status).toBe(404)
  })
})
