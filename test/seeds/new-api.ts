// Databases of New API and one-hub by their documented schema: One API's, with what these two keep more of tokens and channels.
// Source: QuantumNous/new-api, model/token.go and model/channel.go; MartialBE/one-hub, model/token.go and model/user_group.go.
import { oneApi } from "./one-api.ts";
import type { Cell, OneApi, Table } from "./one-api-files.ts";

type Row = Readonly<Record<string, Cell>>;

const TOKEN: Row = {
  status: 1,
  created_time: 1_710_000_000,
  accessed_time: 1_710_000_000,
  expired_time: -1,
  remain_quota: 500_000,
  unlimited_quota: true,
  used_quota: 0,
};
const CHANNEL: Row = {
  type: 1,
  status: 1,
  weight: 0,
  created_time: 1_710_000_000,
  test_time: 0,
  response_time: 0,
  base_url: "",
  other: "",
  balance: 0,
  balance_updated_time: 0,
  group: "default",
  used_quota: 0,
  model_mapping: "",
  priority: 0,
};

/** A table with further columns, and these rows instead of its own. */
function withRows(table: Table | undefined, columns: Table["columns"], rows: readonly Row[]): Table {
  return { columns: { ...table?.columns, ...columns }, rows };
}

function optionRows(options: Readonly<Record<string, string>>): Row[] {
  return Object.entries(options).map(([key, value]) => ({ key, value }));
}

interface Parts {
  readonly tokens?: readonly Row[];
  readonly channels?: readonly Row[];
  readonly options?: Readonly<Record<string, string>>;
}

/** New API's: the users of One API's seed, and these tokens (`id`, `user_id`, `key`, `name` …), channels and options alone. */
export function newApi({ tokens = [], channels = [], options = {} }: Parts): OneApi {
  const base = oneApi("0.6", 0);
  const { users, ...rest } = base;
  return {
    ...rest,
    users: withRows(
      users,
      { aff_quota: "int" },
      (users?.rows ?? []).map((row) => ({ ...row, aff_quota: 0 })),
    ),
    tokens: withRows(
      base["tokens"],
      { group: "indexed", cross_group_retry: "bool", auto_groups: "text" },
      tokens.map((row) => ({ ...TOKEN, group: "", cross_group_retry: false, auto_groups: null, ...row })),
    ),
    channels: withRows(
      base["channels"],
      {
        open_ai_organization: "text",
        test_model: "text",
        auto_ban: "int",
        status_code_mapping: "text",
        tag: "indexed",
        remark: "text",
        setting: "text",
        settings: "text",
        param_override: "text",
        header_override: "text",
        channel_info: "text",
      },
      channels.map((row) => ({ ...CHANNEL, auto_ban: 1, settings: "", channel_info: "{}", ...row })),
    ),
    options: { columns: { key: "indexed", value: "text" }, rows: optionRows(options) },
  };
}

/** one-hub's, with its table of groups. */
export function oneHub({
  groups = [],
  tokens = [],
  channels = [],
}: Omit<Parts, "options"> & { readonly groups?: readonly Row[] }): OneApi {
  const base = oneApi("0.6", 0);
  return {
    ...base,
    tokens: withRows(
      base["tokens"],
      { group: "indexed", backup_group: "indexed", setting: "text" },
      tokens.map((row) => ({ ...TOKEN, group: "", backup_group: "", setting: "{}", ...row })),
    ),
    channels: withRows(
      base["channels"],
      {
        proxy: "indexed",
        custom_parameter: "text",
        model_headers: "text",
        disabled_stream: "text",
        only_chat: "bool",
      },
      channels.map((row) => ({ ...CHANNEL, proxy: "", only_chat: false, ...row })),
    ),
    user_groups: {
      columns: {
        id: "id",
        symbol: "indexed",
        name: "indexed",
        ratio: "float",
        api_rate: "int",
        public: "bool",
        promotion: "bool",
        enable: "bool",
      },
      rows: groups.map((row, at) => ({
        id: at + 1,
        api_rate: 0,
        public: true,
        promotion: false,
        enable: true,
        ...row,
      })),
    },
  };
}
