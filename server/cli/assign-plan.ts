import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { setPlan } from '../organization/subscription-store.ts'
import { getOrganizationBySlug } from './arguments.ts'
import { withDatabase } from './prepare-database.ts'

/** Assigns a plan that the organization does not pay for through the server. */
export async function assignPlan(organization: string, plan: string): Promise<void> {
  await withDatabase(async (db, { plans }) => {
    const known = plans.map(({ id }) => id)
    if (!known.includes(plan)) {
      throw new CliError(`Unknown plan "${plan}". PLANS has ${known.join(', ')}.`)
    }
    const { id, slug } = await getOrganizationBySlug(db, organization)
    const isSet = await setPlan(db, { organizationId: id }, plan, systemClock.now())
    if (!isSet) {
      throw new CliError(`${slug} has a paid subscription, which sets its plan. Cancel the subscription first.`)
    }
    process.stdout.write(`${slug} now has the plan ${plan}. Its limits apply from the next request.\n`)
  })
}
