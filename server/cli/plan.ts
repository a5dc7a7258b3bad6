import { getOrganization } from '../accounts/organizations.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { givePlan } from '../organization/subscription-store.ts'
import { Problem } from '../problem.ts'
import { withDatabase } from './open.ts'

/** Gives an organization a plan that it does not pay for through the server: one agreed on manually, or a gift. */
export async function assignPlan(organization: string, plan: string): Promise<void> {
  await withDatabase(async (db, { plans }) => {
    const known = plans.map(({ id }) => id)
    if (!known.includes(plan)) {
      throw new CliError(`There is no plan "${plan}"; PLANS names ${known.join(', ')}.`)
    }
    const { id, slug } = await getOrganization(db, organization).catch((error: unknown) => {
      throw error instanceof Problem ? new CliError(`There is no organization "${organization}".`) : error
    })
    const isGiven = await givePlan(db, { organizationId: id }, plan, systemClock.now())
    if (!isGiven) {
      throw new CliError(`${slug} pays for a subscription, which decides its plan; it has to be canceled first.`)
    }
    process.stdout.write(`${slug} has the plan ${plan} now; its limits hold from the next request on.\n`)
  })
}
