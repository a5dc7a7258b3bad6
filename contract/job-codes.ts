/** Why a job did not change a monitor or request. The codes are stable; the sentences beside them may change. */
export const JOB_CODES = {
  monitor_not_found: 'The monitor does not exist.',
  request_not_found: 'The webhook request does not exist, or its webhook was deleted.',
  invalid_change: 'The change does not suit the monitor. `field_codes` has a code for each field.',
  too_many_tags: 'The monitor would have too many tags.',
  plan_limit: 'The plan does not allow the interval or one more monitor.',
  group_not_found: 'The group was deleted after the job was created.',
  planned_change_open: 'For `plan`: the monitor already has an open planned change.',
  period_over: 'For `plan`: the period ended before the job reached the monitor.',
  monitor_disabled: 'The monitor is disabled. Enable it first.',
  no_result_yet: 'For `accept`: the monitor has no result yet.',
  lookup_failed: 'For `accept`: no values are known, because the lookup failed.',
  no_values: 'For `accept`: there are no records to accept.',
  too_many_values: 'For `accept`: there are more records than a monitor can expect.',
  deleted_after_job: 'For an undo: the monitor was deleted after the job.',
  changed_after_job: 'For an undo: the monitor was changed after the job.',
  not_stored: 'For an undo: what the job changed is no longer stored.',
} as const
export type JobCode = keyof typeof JOB_CODES
