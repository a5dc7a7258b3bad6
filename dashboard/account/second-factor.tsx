import { useQueryClient } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import type { RecoveryCodes, SecondFactor } from '#contract/account.ts'
import { api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { useToast } from '../ui/toast.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { QrCode } from './qr-code.tsx'

type Action = 'enable' | 'disable' | 'generate-backup-codes'
type Step =
  | { kind: 'password'; action: Action }
  | { kind: 'scan'; factor: SecondFactor }
  | { kind: 'codes'; codes: string[] }

const TITLES = {
  enable: 'Turn on two-factor authentication',
  disable: 'Turn off two-factor authentication',
  'generate-backup-codes': 'New recovery codes',
}

/** Codes of an authenticator app (RFC 6238), and recovery codes. */
export function SecondFactorSection() {
  const { me } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [step, setStep] = useState<Step>()
  const isOn = me.person.two_factor
  const refresh = () => queries.invalidateQueries({ queryKey: ME })
  const askPassword = (action: Action) => setStep({ kind: 'password', action })

  const confirmed = async (action: Action, proof: { password: string; code?: string }) => {
    const path = `/dashboard/auth/two-factor/${action}`
    if (action === 'enable') return setStep({ kind: 'scan', factor: await api.post<SecondFactor>(path, proof) })
    if (action === 'generate-backup-codes') {
      return setStep({ kind: 'codes', codes: (await api.post<RecoveryCodes>(path, proof)).backupCodes })
    }
    await api.post(path, proof)
    await refresh()
    setStep(undefined)
    toast.done('You sign in with your password only.')
  }

  return (
    <Section
      title="Two-factor authentication"
      hint="Signing in also asks for a code from your authenticator app."
      actions={isOn ? <Badge tone="good" icon={ShieldCheck} label="On" /> : <Badge tone="idle" label="Off" />}
    >
      <div className="flex flex-wrap gap-2">
        {isOn ? (
          <>
            <Button onClick={() => askPassword('generate-backup-codes')}>New recovery codes</Button>
            <Button variant="danger" onClick={() => askPassword('disable')}>
              Turn off
            </Button>
          </>
        ) : (
          <Button onClick={() => askPassword('enable')}>Set up</Button>
        )}
      </div>
      <Dialog
        isOpen={step !== undefined}
        onClose={() => setStep(undefined)}
        title={
          step?.kind === 'password'
            ? TITLES[step.action]
            : step?.kind === 'scan'
              ? TITLES.enable
              : 'Your recovery codes'
        }
      >
        {step?.kind === 'password' && (
          <PasswordStep hasCode={step.action !== 'enable'} onConfirm={(proof) => confirmed(step.action, proof)} />
        )}
        {step?.kind === 'scan' && (
          <ScanStep
            factor={step.factor}
            onConfirm={async (code) => {
              await api.post('/dashboard/auth/two-factor/verify-totp', { code })
              await refresh()
              setStep({ kind: 'codes', codes: step.factor.backupCodes })
            }}
          />
        )}
        {step?.kind === 'codes' && <RecoveryCodesStep codes={step.codes} onDone={() => setStep(undefined)} />}
      </Dialog>
    </Section>
  )
}

type PasswordStepProps = {
  hasCode: boolean
  onConfirm: (proof: { password: string; code?: string }) => Promise<unknown>
}

/** `hasCode`: a change of what is turned on needs a code as well. */
function PasswordStep({ hasCode, onConfirm }: PasswordStepProps) {
  const { isBusy, problem, onSubmit } = useSubmit((form) =>
    onConfirm({ password: String(form.get('password')), ...(hasCode && { code: String(form.get('code')).trim() }) }),
  )
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Current password">
        <Input name="password" type="password" autoComplete="current-password" required autoFocus />
      </Field>
      {hasCode && (
        <Field label="Code" hint="From your authenticator app, or a recovery code.">
          <Input name="code" isCode autoComplete="one-time-code" maxLength={20} required />
        </Field>
      )}
      {problem !== undefined && <ProblemNote problem={problem} />}
      <Button type="submit" variant="primary" isBusy={isBusy} className="self-end">
        Continue
      </Button>
    </form>
  )
}

function ScanStep({ factor, onConfirm }: { factor: SecondFactor; onConfirm: (code: string) => Promise<unknown> }) {
  const { isBusy, problem, onSubmit } = useSubmit((form) => onConfirm(String(form.get('code')).replaceAll(' ', '')))
  const secret = new URL(factor.totpURI).searchParams.get('secret') ?? ''
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <p className="text-sm text-soft">Scan this QR code with your authenticator app, then enter the code it shows.</p>
      <QrCode text={factor.totpURI} label="QR code for two-factor authentication" />
      <p className="text-xs text-faint">
        Or enter this key: <span className="font-mono break-all text-ink">{secret}</span>
      </p>
      <Field label="Six-digit code">
        <Input name="code" isCode inputMode="numeric" autoComplete="one-time-code" maxLength={7} required />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} />}
      <Button type="submit" variant="primary" isBusy={isBusy} className="self-end">
        Turn on
      </Button>
    </form>
  )
}

function RecoveryCodesStep({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm text-soft">
        Use a recovery code to sign in if you lose your phone. Each code works once. Store the codes in your password
        manager. They are not shown again.
      </p>
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md bg-sunken px-4 py-3 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <CopyButton text={codes.join('\n')} label="Copy codes" hasLabel />
        <Button variant="primary" size="sm" onClick={onDone}>
          I saved the codes
        </Button>
      </div>
    </div>
  )
}
