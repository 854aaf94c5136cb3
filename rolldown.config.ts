// Bundles the server (src/server → dist/server) into some thirty files, since finding and reading nine hundred modules is
// half of a start (decision 034). Not minified, so that the stack of an error can be read without maps, which would cost as
// much again. Development and unit tests run the sources as they are.
import { readFileSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "rolldown";

/**
 * A file beside its module; `../../…` on the other hand is a file of the installation, and as far away from the bundle. Written as our
 * formatter writes it: the bundle's test looks for any other way to write it, which would be left behind here.
 */
const FILE_BESIDE = /new URL\("(\.\/[^"]+)", import\.meta\.url\)/g;

/** A file of a package, named from where the package's own main module is. */
const FILE_OF_PACKAGE = /new URL\("([^"]+)", import\.meta\.resolve\("([^"]+)"\)\)/g;

/** Takes along what modules name by `new URL("./…", import.meta.url)`: programs of threads bundled, other files as they are; and files of packages. */
function filesBeside(): Plugin {
  return {
    name: "files-beside",
    transform(code, id) {
      const isNamed = code.includes("import.meta.url)") || code.includes("import.meta.resolve(");
      if (!isNamed || id.includes("node_modules")) return;
      const take = (file: string) =>
        extname(file) === ".ts"
          ? this.emitFile({ type: "chunk", id: file })
          : this.emitFile({ type: "asset", name: basename(file), source: readFileSync(file) });
      const taken = code
        .replaceAll(FILE_BESIDE, (_, path: string) => {
          return `new URL(import.meta.ROLLUP_FILE_URL_${take(resolve(dirname(id), path))})`;
        })
        .replaceAll(FILE_OF_PACKAGE, (_, path: string, main: string) => {
          return `new URL(import.meta.ROLLUP_FILE_URL_${take(fileURLToPath(new URL(path, import.meta.resolve(main))))})`;
        });
      // Every line stays where it was.
      return { code: taken, map: null };
    },
  };
}

export default defineConfig({
  input: { main: "src/server/main.ts" },
  platform: "node",
  plugins: [filesBeside()],
  output: {
    dir: "dist/server",
    format: "esm",
    // The name of the entry is known to operators. The others change with their content: a server that still runs finds its own.
    entryFileNames: ({ name }) => (name === "main" ? "[name].js" : "[name]-[hash].js"),
    chunkFileNames: "[name]-[hash].js",
    assetFileNames: "[name]-[hash][extname]",
  },
});
