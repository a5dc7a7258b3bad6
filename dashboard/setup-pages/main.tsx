import '../style.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { PublicSetupPage } from './page.tsx'

// A page of its own, without the dashboard around it: the person who opens it has no account.
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <PublicSetupPage statePath={`${location.pathname.replace(/\/$/, '')}/state`} />
  </StrictMode>,
)
