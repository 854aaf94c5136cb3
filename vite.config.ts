// Builds the console (src/console → dist/console) and serves it in development with the API behind it.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { english, englishPage } from "./scripts/locale/english-plugin.ts";

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

interface ModuleGraph {
  readonly getModuleInfo: (
    id: string,
  ) => { readonly importedIds: readonly string[]; readonly importers: readonly string[] } | null;
}

/** What only signed-in pages need; guests must not load it. */
const HEAVY =
  /[\\/]node_modules[\\/](antd|@rc-component[\\/](?!util)|@ant-design[\\/]cssinjs|dayjs|echarts|zrender)/;
/** Pages with the light frame, and what starts the console. */
const FOR_GUESTS = /[\\/]console[\\/](?:pages[\\/](?:models[\\/]page|[^\\/]+)|[^\\/]+)\.tsx$/;

type Trait = (id: string, graph: ModuleGraph) => boolean;

/** A trait that modules hand on: to those that import them, or to those that they import. */
function spreading(pattern: RegExp, to: "importedIds" | "importers"): Trait {
  const answers = new Map<string, boolean>();
  return function has(id: string, graph: ModuleGraph): boolean {
    const known = answers.get(id);
    if (known !== undefined) return known;
    // Until it is known, so that circles end; there are none but inside packages, which are of one kind.
    answers.set(id, false);
    const answer =
      pattern.test(id) || (graph.getModuleInfo(id)?.[to] ?? []).some((other) => has(other, graph));
    answers.set(id, answer);
    return answer;
  };
}

const isHeavy = spreading(HEAVY, "importedIds");
const isOfGuests = spreading(FOR_GUESTS, "importers");
const isLight: Trait = (id, graph) => !isHeavy(id, graph);
const isCommon: Trait = (id, graph) => isLight(id, graph) && isOfGuests(id, graph);

/** Names the file of the modules for which `test` holds; the others go elsewhere. */
function onlyIf(name: string, test: Trait) {
  return (id: string, graph: ModuleGraph) => (test(id, graph) ? name : null);
}

const PAGE = fileURLToPath(new URL("src/console/index.html", import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL("src/console", import.meta.url)),
  plugins: [english(fileURLToPath(new URL(".", import.meta.url))), react(), englishPage()],
  // Both languages by one `vite build`; development serves the Chinese one.
  builder: {},
  environments: {
    client: { define: { __LANGUAGE__: '"zh"' } },
    english: {
      consumer: "client",
      define: { __LANGUAGE__: '"en"' },
      build: { emptyOutDir: false, copyPublicDir: false, rolldownOptions: { input: PAGE } },
    },
  },
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
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // base/boot.ts, with base/words.ts, configures zod and must run before the first schema: same file, hence first.
            {
              name: "zod",
              test: /[\\/]node_modules[\\/]zod[\\/]|[\\/]console[\\/]base[\\/](?:boot|words)\.ts$/,
            },
            {
              name: "react",
              test: /[\\/]node_modules[\\/](react|react-dom|scheduler|react-router|@tanstack)[\\/]/,
            },
            // Over HTTP/1.1 each six files cost a round trip, so what many pages share stands in few. A module that N pages
            // share brings only modules that at least N share: files made by number never need each other in a circle.
            // Those that guests see; others come with the pages that draw them.
            {
              name: onlyIf("icons", isOfGuests),
              debugName: "icons",
              test: /[\\/]node_modules[\\/](@ant-design[\\/](icons|icons-svg|colors|fast-color)|@rc-component[\\/]util)[\\/]/,
            },
            { name: onlyIf("common", isCommon), debugName: "common", minShareCount: 2 },
            { name: onlyIf("light", isLight), debugName: "light", minShareCount: 2 },
            { name: onlyIf("antd", isHeavy), debugName: "antd", minShareCount: 8 },
            { name: onlyIf("list", isHeavy), debugName: "list", minShareCount: 2 },
          ],
        },
      },
    },
  },
});
