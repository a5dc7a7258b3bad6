import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const API = process.env.ZONEWATCH_API ?? 'http://127.0.0.1:8080'

// A build is always for production. Tests set NODE_ENV, which would select the slow development build of React.
if (process.argv.includes('build')) process.env.NODE_ENV = 'production'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/dashboard/',
  plugins: [react(), tailwindcss()],
  build: {
    target: 'es2023',
    emptyOutDir: true,
    reportCompressedSize: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // connect.html is the public setup page for customers.
    rolldownOptions: {
      input: ['index.html', 'connect.html'].map((page) => fileURLToPath(new URL(page, import.meta.url))),
    },
  },
  server: {
    host: '127.0.0.1',
    port: 5173,
    strictPort: true,
    // Everything except the dashboard's files comes from the server.
    proxy: { '^/(?!dashboard/)': API, '^/dashboard/(api|auth)/': API },
  },
})
