import { Radio } from '@base-ui/react/radio'
import { RadioGroup } from '@base-ui/react/radio-group'
import { useId } from 'react'
import { type Role, useSession } from '../session.tsx'
import { givenBy } from './roles.ts'

/** One of the roles that one may give, each with what it may do. */
export function RoleChoice({ role, onChange }: { role: Role; onChange: (role: Role) => void }) {
  const { organization } = useSession()
  const labelId = useId()
  return (
    <div>
      <p id={labelId} className="mb-1.5 text-sm font-medium">
        Role
      </p>
      <RadioGroup
        aria-labelledby={labelId}
        value={role}
        onValueChange={(value) => onChange(value as Role)}
        className="divide-y divide-line rounded-md border border-line"
      >
        {givenBy(organization.role).map(({ value, label, hint }) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: the control is of Base UI
          <label key={value} className="flex items-start gap-2.5 px-3 py-2.5 hover:bg-sunken">
            <Radio.Root
              value={value}
              className="mt-0.5 grid size-4 shrink-0 place-items-center rounded-full border border-edge bg-surface data-[checked]:border-accent data-[checked]:bg-accent"
            >
              <Radio.Indicator className="size-1.5 rounded-full bg-on-accent" />
            </Radio.Root>
            <span>
              <span className="block text-sm">{label}</span>
              <span className="block text-xs text-faint">{hint}</span>
            </span>
          </label>
        ))}
      </RadioGroup>
    </div>
  )
}
