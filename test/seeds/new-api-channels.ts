// Channels of New API, what the official SDK is asked for, and the bytes that New API sends for it by its documented semantics: it writes
// bodies in the order of its own fields, and sorted by name where parameters or switches have changed them, so the SDK is given them in
// that order. Source: QuantumNous/new-api, relay/common/override.go and relay/common/relay_info.go, read 2026-11-27.
import type OpenAI from "openai";

export const PATH = "POST /v1/chat/completions HTTP/1.1";
export const HI = [{ role: "user" as const, content: "hi" }];
/** As New API writes a message that it has read as an object of any kind. */
const SORTED_HI = [{ content: "hi", role: "user" as const }];
export type Ask = Omit<OpenAI.ChatCompletionCreateParams, "model"> & Readonly<Record<string, unknown>>;

export interface Case {
  /** Of the channel in the source, beside its name, its model, its proxy and its key. */
  readonly channel: Readonly<Record<string, string | number>>;
  /** Its `setting`, without the proxy. */
  readonly setting?: Readonly<Record<string, string | boolean>>;
  readonly ask: Ask;
  readonly headers?: Readonly<Record<string, string>>;
  /** What arrives at the upstream: the first line, these headers, and the body. */
  readonly line?: string;
  readonly sent?: Readonly<Record<string, string>>;
  readonly body: string;
}

const json = JSON.stringify;
export const operations = (...list: readonly unknown[]) => json({ operations: list });

/** By the name of the channel, which is also that of its only model. */
export const CASES: Readonly<Record<string, Case>> = {
  mapped: {
    channel: { model_mapping: '{"mapped":"upstream-large"}', open_ai_organization: "org-7" },
    ask: { messages: HI },
    sent: { authorization: "Bearer sk-mapped", "openai-organization": "org-7" },
    body: '{"model":"upstream-large","messages":[{"role":"user","content":"hi"}]}',
  },
  streamed: {
    channel: {},
    ask: { messages: HI, stream: true },
    sent: { authorization: "Bearer sk-streamed" },
    body: '{"model":"streamed","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}',
  },
  flat: {
    channel: { param_override: '{"temperature":0,"user":"gate","x.y":[1,{"a":null}]}' },
    ask: { max_tokens: 50, messages: SORTED_HI, model: "", temperature: 1 },
    sent: { authorization: "Bearer sk-flat" },
    body: '{"max_tokens":50,"messages":[{"content":"hi","role":"user"}],"model":"flat","temperature":0,"user":"gate","x.y":[1,{"a":null}]}',
  },
  operated: {
    channel: {
      param_override: operations(
        { mode: "set", path: "temperature", value: 0.2 },
        { mode: "set", path: "temperature", value: 9, keep_origin: true },
        { mode: "set", path: "metadata.team", value: "a" },
        { mode: "append", path: "messages.-1.content", value: "!" },
        { mode: "prepend", path: "messages", value: [{ content: "first", role: "user" }] },
        { mode: "move", from: "top_p", to: "top_k" },
        { mode: "delete", path: "user" },
        {
          mode: "set",
          path: "seed",
          value: 7,
          conditions: [{ path: "model", mode: "prefix", value: "oper" }],
        },
        {
          mode: "set",
          path: "seed",
          value: 8,
          conditions: [{ path: "model", mode: "prefix", value: "other" }],
        },
        { mode: "set_header", path: "X-Rule", value: "on" },
      ),
    },
    ask: { messages: HI, temperature: 1, top_p: 0.5, user: "u" },
    sent: { authorization: "Bearer sk-operated", "x-rule": "on" },
    body: '{"model":"operated","messages":[{"content":"first","role":"user"},{"role":"user","content":"hi!"}],"temperature":0.2,"metadata":{"team":"a"},"top_k":0.5,"seed":7}',
  },
  headed: {
    channel: {
      header_override: json({
        Authorization: "Token {api_key}",
        "X-Key": "k={api_key};",
        "X-Tenant": "acme",
        "X-Trace": "{client_header:X-Trace}",
        "X-None": "{client_header:X-None}",
        "Content-Type": "application/json",
      }),
    },
    ask: { messages: HI },
    headers: { "X-Trace": "t-1" },
    sent: {
      authorization: "Token sk-headed",
      "x-key": "k=sk-headed;",
      "x-tenant": "acme",
      "x-trace": "t-1",
      "content-type": "application/json",
      "x-none": "",
    },
    body: '{"model":"headed","messages":[{"role":"user","content":"hi"}]}',
  },
  prompted: {
    channel: {},
    setting: { system_prompt: "Be brief." },
    ask: { messages: HI },
    sent: { authorization: "Bearer sk-prompted" },
    body: '{"model":"prompted","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}',
  },
  "prompted-kept": {
    channel: {},
    setting: { system_prompt: "Be brief." },
    ask: { messages: [{ role: "system", content: "Own." }, ...HI] },
    body: '{"model":"prompted-kept","messages":[{"role":"system","content":"Own."},{"role":"user","content":"hi"}]}',
  },
  "prompted-before": {
    channel: {},
    setting: { system_prompt: "Be brief.", system_prompt_override: true },
    ask: { messages: [{ role: "system", content: "Own." }, ...HI] },
    body: '{"model":"prompted-before","messages":[{"role":"system","content":"Be brief.\\nOwn."},{"role":"user","content":"hi"}]}',
  },
  strict: {
    channel: { settings: '{"disable_store":true}' },
    ask: {
      messages: SORTED_HI,
      model: "",
      safety_identifier: "person-1",
      service_tier: "flex",
      store: true,
      stream: true,
      stream_options: { include_obfuscation: false, include_usage: true },
      user: "u",
    },
    sent: { authorization: "Bearer sk-strict" },
    body: '{"messages":[{"content":"hi","role":"user"}],"model":"strict","stream":true,"stream_options":{"include_usage":true},"user":"u"}',
  },
  allowed: {
    channel: {
      settings: '{"allow_safety_identifier":true,"allow_include_obfuscation":true,"allow_service_tier":true}',
    },
    ask: {
      messages: HI,
      store: true,
      service_tier: "flex",
      safety_identifier: "person-1",
    },
    body: '{"model":"allowed","messages":[{"role":"user","content":"hi"}],"store":true,"service_tier":"flex","safety_identifier":"person-1"}',
  },
  passed: {
    setting: { pass_through_body_enabled: true, system_prompt: "Be brief." },
    channel: {
      param_override: '{"temperature":0}',
      model_mapping: '{"passed":"never"}',
      header_override: '{"X-Tenant":"acme"}',
    },
    ask: { temperature: 1, safety_identifier: "person-1", messages: HI, unknown: { b: 1, a: [] } },
    sent: { authorization: "Bearer sk-passed", "x-tenant": "acme" },
    body: '{"model":"passed","temperature":1,"safety_identifier":"person-1","messages":[{"role":"user","content":"hi"}],"unknown":{"b":1,"a":[]}}',
  },
  azured: {
    channel: { type: 3, other: "2024-10-21", model_mapping: '{"azured":"house-deployment"}' },
    ask: { messages: HI },
    line: "POST /openai/deployments/house-deployment/chat/completions?api-version=2024-10-21 HTTP/1.1",
    sent: { "api-key": "sk-azured" },
    body: '{"model":"house-deployment","messages":[{"role":"user","content":"hi"}]}',
  },
};

export const SEVERAL = {
  random: {
    key: "sk-r1\nsk-r2\nsk-r3",
    channel_info: json({ is_multi_key: true, multi_key_size: 3, multi_key_status_list: { 1: 3 } }),
    header_override: '{"X-Key":"{api_key}"}',
  },
  polled: {
    key: "sk-p1\nsk-p2\nsk-p3\nsk-p4",
    channel_info: json({
      is_multi_key: true,
      multi_key_size: 4,
      multi_key_mode: "polling",
      multi_key_polling_index: 2,
      multi_key_status_list: { 0: 2 },
    }),
    header_override: '{"X-Key":"{api_key}"}',
  },
} as const;

/** By model: the status that the upstream answers, and the one that New API tells. */
export const STATUSES = {
  "told-429": [429, 503],
  "told-404": [404, 400],
  "told-500": [500, 502],
  "told-403": [403, 402],
  "told-422": [422, 422],
} as const;
export const STATUS_MAPPING = '{"429":"503","404":"400","403":"402","500":"502","200":"500","503":"abc"}';
