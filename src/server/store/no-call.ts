// The columns of a log entry that only calls fill, for entries about something else. Types and one constant: writer threads load it too.
import type { NewLog } from "./logs.ts";

export const NO_CALL = {
  token_id: 0,
  token_name: "",
  model_name: "",
  quota: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  channel_id: 0,
  request_id: "",
  elapsed_time: 0,
  first_byte_time: 0,
  is_stream: 0,
  estimated: 0,
  trail: "",
} as const satisfies Partial<NewLog>;
