// What may be written behind `npm run bench --`; what it does not know ends the run in a sentence, before anything is started.
import { parseArgs } from "node:util";
import { casesFor } from "./cases.ts";

const CASES = casesFor(true).map(({ name }): string => name);

const USAGE = `usage: npm run bench -- [options]
  --quick        fewer requests
  --json         the figures as JSON
  --self         floor against floor: shows what this machine's noise looks like; every ratio should be near 1
  --profile      no comparison; names the functions that cost most
  --case <name>  one case alone: ${CASES.join(", ")}; or, not with --profile,
                 translate, rewrite, reuse, keys, postgres, limits or team (the last five run alone only)
  --before <dir> with --case limits: another checkout whose server is built, to hold this one against where nothing is limited
`;

const options = {
  quick: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  self: { type: "boolean", default: false },
  profile: { type: "boolean", default: false },
  case: { type: "string" },
  before: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Reads the command line. Throws: Error with a sentence and the usage. */
function parse(args: string[]) {
  try {
    const { values } = parseArgs({ args, options });
    const alone = ["translate", "rewrite", "reuse", "keys", "postgres", "limits", "team"];
    const known = values.profile ? CASES : [...CASES, ...alone];
    if (values.case === undefined || known.includes(values.case)) return values;
    throw new Error(`--case is one of ${known.join(", ")}`);
  } catch (error) {
    throw new Error(`bench: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`, {
      cause: error,
    });
  }
}

/** The flags of this run; ends it for `--help`, and with 1 for what it does not understand. */
export function readFlags(args: string[]) {
  try {
    const flags = parse(args);
    if (!flags.help) return flags;
    process.stdout.write(USAGE);
    process.exit(0);
  } catch (error) {
    process.stderr.write(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
}
