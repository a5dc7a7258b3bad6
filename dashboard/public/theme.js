// Before the first paint, so that a dark page never flashes white.
{
  const chosen = localStorage.getItem('zonewatch.theme')
  const isDark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.classList.toggle('dark', isDark)
}
