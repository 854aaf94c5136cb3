// Where in a cloud a channel's calls go: region, project and account, taken from its key and its field `other`. Pure.
import { awsKeyOf, serviceAccountOf } from "./provider-key.ts";

/** What is known of a channel when the wire is chosen. */
export interface WireTarget {
  readonly key: string;
  /** As stored: "" = the default of the type. */
  readonly baseUrl: string;
  readonly other: string;
  /** Upstream name, after the model mapping. */
  readonly model: string;
}

/** The braces that a row's address and paths may hold, by the cloud that fills them. */
export type PlaceName =
  /** `{region}`: part of the key. */
  | "aws"
  /** `{host}` and `{scope}`: region of `other`, project of the service account. */
  | "vertex"
  /** `{account}`: the field `other`. */
  | "account";

/** Names that may stand in an address: anything else stays in its braces, and the address is refused as no URL. */
const SAFE = /^[\w.-]+$/;

/** Fills what is known of the place into an address or a path. */
export function placed(text: string, place: PlaceName, target: WireTarget): string {
  const values = VALUES[place](target);
  return text.replace(/\{(region|host|scope|account)\}/g, (braces, name: string) => values[name] ?? braces);
}

/** What of a key the place depends on: keys that agree in it have the same place. */
export function placeOfKey(key: string, place: PlaceName): string {
  if (place === "account") return "";
  if (place === "aws") return awsKeyOf(key)?.region ?? "";
  const account = serviceAccountOf(key);
  return account === undefined ? "" : JSON.stringify([account.place, account.projectId]);
}

type Values = Readonly<Record<string, string | undefined>>;

const VALUES: Readonly<Record<PlaceName, (target: WireTarget) => Values>> = {
  aws: ({ key }) => ({ region: awsKeyOf(key)?.region }),
  vertex: vertexPlace,
  account: ({ other }) => ({ account: SAFE.test(other.trim()) ? other.trim() : undefined }),
};

/** An API key (express mode) has neither region nor project. Source: vendors/vertex. */
function vertexPlace({ key, other, model }: WireTarget): Values {
  const account = serviceAccountOf(key);
  if (account === undefined) return { host: "aiplatform.googleapis.com", scope: "" };
  const [region = "", project = account.projectId] = (regionOf(other, model) || account.place || "global")
    .split("|")
    .map((part) => part.trim());
  if (!SAFE.test(region) || !SAFE.test(project)) return {};
  return { host: hostOf(region), scope: `projects/${project}/locations/${region}/` };
}

function hostOf(region: string): string {
  if (region === "global") return "aiplatform.googleapis.com";
  const isMulti = region === "us" || region === "eu";
  return isMulti ? `aiplatform.${region}.rep.googleapis.com` : `${region}-aiplatform.googleapis.com`;
}

/** `other` is a region, `region|project`, or a JSON object of model → region with a `default`. */
function regionOf(other: string, model: string): string {
  const text = other.trim();
  if (!text.startsWith("{")) return text;
  try {
    // A JSON text that begins with a brace is an object; what it holds is checked.
    const regions = JSON.parse(text) as Record<string, unknown>;
    const found = Object.hasOwn(regions, model) ? regions[model] : regions["default"];
    return typeof found === "string" ? found.trim() : "";
  } catch {
    return "{";
  }
}
