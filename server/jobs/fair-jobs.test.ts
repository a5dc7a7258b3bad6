import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'

onBothEngines('fair jobs', (_fresh, engine) => {
  test('the job of one organization does not wait for the many jobs of another', async () => {
    const world = await givenApp(engine)
    const { pass, create, read } = givenJobs(world)
    await givenMonitors(world, 300)
    const jobs = []
    for (let count = 0; count < 5; count++) jobs.push(await create({ action: 'check', all: true }))
    const { key } = await world.key('admin', { organizationName: 'Other' })
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
    await world.call('/monitors', { method: 'POST', key, body: monitor })
    const { body: job } = await world.call('/jobs', { method: 'POST', key, body: { action: 'check', all: true } })
    const isFinished = async () => (await world.call(`/jobs/${job.id}`, { key })).body.state === 'finished'

    let passes = 0
    for (; !(await isFinished()); passes++) expect(await pass()).toBeGreaterThan(0)

    expect(passes).toBeLessThanOrEqual(2)
    expect((await read(jobs[4]!.id)).state).toBe('queued')
  })
})
