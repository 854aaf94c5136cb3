// Builds the console (src/console → dist/console) and serves it in development with the API behind it.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const API = "http://127.0.0.1:3000";

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  const isNamed = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isNamed ? String(manifest.version) : "0.0.0";
}

/** The newest entry of the changelog: from its heading to the next one. */
function newestNotes(): string {
  const text = readFileSync(new URL("CHANGELOG.md", import.meta.url), "utf8");
  return text.split(/^## /m)[1]?.trim() ?? "";
}

export default defineConfig({
  root: fileURLToPath(new URL("src/console", import.meta.url)),
  plugins: [react()],
  define: {
    __APP_VERSION__: JSON.stringify(ownVersion()),
    __RELEASE_NOTES__: JSON.stringify(newestNotes()),
  },
  server: { port: 5173, proxy: { "/api": API, "/v1": API } },
  build: {
    outDir: fileURLToPath(new URL("dist/console", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    // Inlined assets would be data: addresses, which the content policy of the server does not have to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // base/boot.ts configures zod and must run before the first schema: same file, hence first.
            { name: "zod", test: /[\\/]node_modules[\\/]zod[\\/]|[\\/]console[\\/]base[\\/]boot\.ts$/ },
            {
              name: "react",
              test: /[\\/]node_modules[\\/](react|react-dom|scheduler|react-router|@tanstack)[\\/]/,
            },
          ],
        },
      },
    },
  },
});
