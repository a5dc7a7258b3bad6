import { Plus, X } from 'lucide-react'
import { MAX_BATCH_EVENTS, MAX_BATCH_WAIT_SECONDS } from '#contract/batches.ts'
import { Button } from '../ui/button.tsx'
import { Checkbox, Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import type { HeaderLine, WebhookForm } from './form-values.ts'
import { GroupChoice } from './group-choice.tsx'
import { INCLUDES } from './status.tsx'

/** The fields that show their errors here. */
export const WEBHOOK_FIELDS = ['url', 'groups', 'headers', 'batch.max_events', 'batch.max_wait_seconds', 'secret']

type FieldsProps = { form: WebhookForm; onChange: (form: WebhookForm) => void; problem: unknown; isNew?: boolean }

export function WebhookFields({ form, onChange, problem, isNew }: FieldsProps) {
  const set = (change: Partial<WebhookForm>) => onChange({ ...form, ...change })
  return (
    <div className="flex flex-col gap-5">
      <Field
        label="URL"
        hint="Receives an HTTP POST for each change. Use https outside your own network."
        error={fieldError(problem, 'url')}
      >
        <Input
          isCode
          type="url"
          required
          autoFocus={isNew ?? false}
          maxLength={2000}
          placeholder="https://hooks.example.com/dns"
          value={form.url}
          onChange={(event) => set({ url: event.target.value })}
        />
      </Field>
      <GroupChoice
        chosen={form.groups}
        isOfAll={form.isOfAll}
        onChange={(groups) => set({ groups })}
        onAll={(isOfAll) => set({ isOfAll })}
        error={fieldError(problem, 'groups')}
      />
      <Checkbox
        label="Also send findings about zones, of all zones, in a payload of their own"
        isChecked={form.hasZones}
        onChange={(hasZones) => set({ hasZones })}
      />
      <HeaderFields
        lines={form.headers}
        onChange={(headers) => set({ headers })}
        error={fieldError(problem, 'headers')}
      />
      <IncludeFields chosen={form.includes} onChange={(includes) => set({ includes })} />
      <BatchFields form={form} onChange={set} problem={problem} />
      {isNew && <SecretField secret={form.secret} onChange={(secret) => set({ secret })} problem={problem} />}
    </div>
  )
}

function HeaderFields({
  lines,
  onChange,
  error,
}: {
  lines: readonly HeaderLine[]
  onChange: (lines: HeaderLine[]) => void
  error: string | undefined
}) {
  const change = (key: number, part: Partial<HeaderLine>) =>
    onChange(lines.map((line) => (line.key === key ? { ...line, ...part } : line)))
  const add = () => onChange([...lines, { key: Math.max(-1, ...lines.map(({ key }) => key)) + 1, name: '', value: '' }])
  return (
    <fieldset>
      <legend className="text-sm font-medium">
        Headers <span className="font-normal text-faint">(optional)</span>
      </legend>
      <p className="mb-1.5 text-xs text-faint">
        Sent with every request, for example Authorization. Saved values show only their last 4 characters. Leave a
        value unchanged to keep it.
      </p>
      <div className="flex flex-col gap-2">
        {lines.map(({ key, name, value }, index) => (
          <div key={key} className="flex gap-2">
            <Input
              isCode
              aria-label={`Name of header ${index + 1}`}
              placeholder="X-Team"
              value={name}
              onChange={(event) => change(key, { name: event.target.value })}
              className="min-w-0 flex-[2]"
            />
            <Input
              isCode
              aria-label={`Value of header ${index + 1}`}
              placeholder="operations"
              value={value}
              onChange={(event) => change(key, { value: event.target.value })}
              className="min-w-0 flex-[3]"
            />
            <Button
              variant="quiet"
              isSquare
              aria-label={`Remove header ${name || index + 1}`}
              onClick={() => onChange(lines.filter((line) => line.key !== key))}
            >
              <X />
            </Button>
          </div>
        ))}
      </div>
      {error && (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {error}
        </p>
      )}
      {lines.length < 20 && (
        <Button size="sm" onClick={add} className={lines.length > 0 ? 'mt-2' : ''}>
          <Plus /> Add header
        </Button>
      )}
    </fieldset>
  )
}

function IncludeFields({ chosen, onChange }: { chosen: string[]; onChange: (includes: string[]) => void }) {
  return (
    <fieldset>
      <legend className="text-sm font-medium">
        Add to the payload <span className="font-normal text-faint">(optional)</span>
      </legend>
      <p className="mb-1.5 text-xs text-faint">In the field monitor, as it was when the event occurred.</p>
      <div className="grid gap-2 sm:grid-cols-2">
        {Object.entries(INCLUDES).map(([name, label]) => (
          <Checkbox
            key={name}
            label={label}
            isChecked={chosen.includes(name)}
            onChange={(isOn) => onChange(isOn ? [...chosen, name] : chosen.filter((other) => other !== name))}
          />
        ))}
      </div>
    </fieldset>
  )
}

/** Off by default, because the body has another format. */
function BatchFields({
  form: { isBatched, batch },
  onChange,
  problem,
}: {
  form: WebhookForm
  onChange: (change: Partial<WebhookForm>) => void
  problem: unknown
}) {
  return (
    <div className="flex flex-col gap-3">
      <Checkbox
        label="Send changes in batches"
        hint="Your endpoint receives several changes in one request, in the field events."
        isChecked={isBatched}
        onChange={(isBatched) => onChange({ isBatched })}
      />
      {isBatched && (
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="Changes per request" hint="1 to 100." error={fieldError(problem, 'batch.max_events')}>
            <Input
              type="number"
              required
              min={1}
              max={MAX_BATCH_EVENTS}
              value={batch.max_events}
              onChange={(event) => onChange({ batch: { ...batch, max_events: event.target.value } })}
            />
          </Field>
          <Field
            label="Maximum wait in seconds"
            hint="0 to 60. A full request is sent at once."
            error={fieldError(problem, 'batch.max_wait_seconds')}
          >
            <Input
              type="number"
              required
              min={0}
              max={MAX_BATCH_WAIT_SECONDS}
              value={batch.max_wait_seconds}
              onChange={(event) => onChange({ batch: { ...batch, max_wait_seconds: event.target.value } })}
            />
          </Field>
        </div>
      )}
    </div>
  )
}

/** Without a secret, the server generates one. */
export function SecretField({
  secret,
  onChange,
  problem,
}: {
  secret: string | undefined
  onChange: (secret: string | undefined) => void
  problem: unknown
}) {
  return (
    <div className="flex flex-col gap-3">
      <Checkbox
        label="Use my own secret"
        hint="Otherwise Zonewatch generates a secret and shows it once. It signs each request."
        isChecked={secret !== undefined}
        onChange={(isOwn) => onChange(isOwn ? '' : undefined)}
      />
      {secret !== undefined && (
        <Field label="Secret" hint="16 to 256 characters." error={fieldError(problem, 'secret')}>
          <Input
            isCode
            required
            minLength={16}
            maxLength={256}
            autoComplete="off"
            value={secret}
            onChange={(event) => onChange(event.target.value)}
          />
        </Field>
      )}
    </div>
  )
}
