// The members of `setting` and `settings`, New API's two columns of a channel's switches: what of them is said here, and the names of
// those that have no place. Source: QuantumNous/new-api, dto/channel_settings.go and relay/common/relay_info.go, read 2026-11-27.
import { intOf, objectOf, type SourceRow, textOf } from "./row.ts";

export interface ChannelSettings {
  /** Bodies go out as clients send them: neither parameters nor a system prompt are added, and nothing is taken out. */
  readonly passesBody: boolean;
  /** Members of bodies that are taken out, as JSON Pointers. */
  readonly takenOut: readonly string[];
  /** Of Chat; of Responses the gateway decides what is kept. */
  readonly takesStoreOut: boolean;
  /** What is on and has no place here, by name. */
  readonly left: readonly string[];
}

/** New API takes them out unless this switch is on. */
const ALLOWED_BY: Readonly<Record<string, string>> = {
  allow_service_tier: "/service_tier",
  allow_inference_geo: "/inference_geo",
  allow_speed: "/speed",
  allow_safety_identifier: "/safety_identifier",
  allow_include_obfuscation: "/stream_options/include_obfuscation",
};

const SAID: ReadonlySet<string> = new Set([
  "proxy",
  "system_prompt",
  "system_prompt_override",
  "pass_through_body_enabled",
  "disable_store",
  // These pass here as well; what the others allow costs more, or goes to another region, and is refused or taken out.
  "allow_safety_identifier",
  "allow_include_obfuscation",
  // The form of the key says which it is.
  "vertex_key_type",
  "aws_key_type",
  // The lists of all upstreams are compared here; the rest is what the source had noted.
  "upstream_model_update_check_enabled",
  "upstream_model_update_last_check_time",
  "upstream_model_update_last_detected_models",
  "upstream_model_update_last_removed_models",
]);

/** Columns of New API and one-hub that are switches too. */
const COLUMNS = ["disabled_stream", "only_chat", "compatible_response", "allow_extra_body", "plugin"];

/** `passesAll` = New API's switch for all channels is on. */
export function settingsOf(row: SourceRow, passesAll = false): ChannelSettings {
  const members = { ...objectOf(row, "setting"), ...objectOf(row, "settings") };
  const passesBody = passesAll || members["pass_through_body_enabled"] === true;
  // Releases without the column take nothing out.
  const takesOut = row["settings"] !== undefined && !passesBody;
  const switches = Object.entries(members).filter(([name, value]) => !SAID.has(name) && isOn(value));
  const columns = COLUMNS.filter((name) => !/^(?:|0|false|null|\{\}|\[\])$/.test(textOf(row, name)));
  const keepsOn = row["auto_ban"] !== undefined && intOf(row, "auto_ban", 1) === 0;
  return {
    passesBody,
    takenOut: takesOut
      ? Object.entries(ALLOWED_BY).flatMap(([name, path]) => (members[name] === true ? [] : [path]))
      : [],
    takesStoreOut: takesOut && members["disable_store"] === true,
    left: [...switches.map(([name]) => name), ...columns, ...(keepsOn ? ["auto_ban"] : [])],
  };
}

/** Switches that are off, and empty lists, change nothing. */
function isOn(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return value !== false && value !== "" && value !== null && value !== 0;
}
