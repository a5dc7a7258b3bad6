import { Field, Input } from '../ui/field.tsx'

type NamePatternProps = { value: string; onChange: (value: string) => void; error: string | undefined }

/** Which names a rule or a window is about. */
export function NamePattern({ value, onChange, error }: NamePatternProps) {
  return (
    <Field label="Name pattern" isOptional hint="* stands for any characters." error={error}>
      <Input
        isCode
        maxLength={253}
        placeholder="*.example.com"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  )
}
