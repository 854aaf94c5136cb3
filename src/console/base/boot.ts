// Things that must be so before any schema exists; built into the same file as zod (vite.config.ts), so it runs first.
import { z } from "zod";
import { sentenceOf } from "./words.ts";

// Messages in our language. The content policy forbids code from text, so zod must not try to compile its checks.
z.config({ localeError: sentenceOf, jitless: true });
