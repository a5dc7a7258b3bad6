import '../style.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { PublicSetupPage } from './page.tsx'

// A separate page without the dashboard, for people without an account.
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <PublicSetupPage statePath={`${location.pathname.replace(/\/$/, '')}/state`} />
  </StrictMode>,
)
