import type { Migration } from '../migrate.ts'

/** Why a job did not change a monitor, as a code beside the sentence, and of fields as JSON. Results of a version before have none. */
export const jobCodes: Migration = {
  name: 'job codes',
  statements: () => [
    'alter table job_results add column code text',
    'alter table job_results add column field_codes text',
  ],
}
