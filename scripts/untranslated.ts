// `node scripts/untranslated.ts`: each text of the source that has no English yet, by the catalog it belongs into, with the
// files that say it; then the entries that no source says any more. Prints nothing when all is said in both languages.
import { untranslated, unused } from "./locale/coverage.ts";

for (const [catalog, texts] of untranslated()) {
  console.log(`\n${catalog}`);
  for (const [key, files] of texts) console.log(`  ${JSON.stringify(key)}: "",  // ${[...files].join(", ")}`);
}
for (const [catalog, keys] of unused()) {
  for (const key of keys) console.log(`${catalog}: no source says ${JSON.stringify(key)}`);
}
