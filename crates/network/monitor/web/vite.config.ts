import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// One file of each kind, with fixed names: they are committed, and compared with a build of the same sources.
export default defineConfig({
  plugins: [svelte()],
  publicDir: 'public',
  build: {
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'page.js',
        assetFileNames: 'page[extname]',
        inlineDynamicImports: true,
      },
    },
  },
});
