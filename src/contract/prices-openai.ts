// OpenAI's price list (November 2026) and the last prices of its retired models. Data only. Source: vendors/prices, requirements T26.19;
// contract
// 14.1; since GPT-6 the vendor's model pages (developers.openai.com/api/docs/models/…), changelog and pricing page.
import { asRatio, type PriceSheet, usd, usdPerImage } from "./price-sheet.ts";

export const openaiPrices: readonly PriceSheet[] = [
  {
    unitPrice: usd,
    rows: [
      // 6.2 Astra: prices as LiteLLM, Vercel and APIYI tell them; writes and long prompts as the vendor sells them since GPT-5.6.
      ["gpt-6.2-astra", 8, 40, 0.4, 10, { above: { 272000: [16, 60] } }],
      ["gpt-6-astra", 10, 50, 1, 12.5, { above: { 272000: [20, 75] } }],
      ["gpt-6.2-sol gpt-6.1-sol", 2, 10, 0.1, 2.5, { above: { 272000: [4, 15] } }],
      ["gpt-6-sol", 2, 10, 0.2, 2.5, { above: { 272000: [4, 15] } }],
      ["gpt-6.1-terra", 1, 5, 0.05, 1.25, { above: { 272000: [2, 7.5] } }],
      ["gpt-6-luna", 0.1, 0.5, 0.01, 0.125, { above: { 272000: [0.2, 0.75] } }],
      // The list price: $4 and $20 were promised until 2026-11-21 only.
      ["gpt-5.6 gpt-5.6-sol", 5, 30, 0.5, 6.25, { above: { 272000: [10, 45] } }],
      ["gpt-5.6-terra", 2, 12, 0.2, 2.5, { above: { 272000: [4, 18] } }],
      ["gpt-5.6-luna", 0.2, 1.2, 0.02, 0.25, { above: { 272000: [0.4, 1.8] } }],
      ["gpt-5.5 gpt-5.5-2026-04-23", 5, 30, 0.5, undefined, { above: { 272000: [10, 45] } }],
      ["gpt-chat-latest", 5, 30, 0.5],
      ["gpt-5.5-pro", 30, 180, undefined, undefined, { above: { 272000: [60, 270] } }],
      ["gpt-5.4-pro", 30, 180, undefined, undefined, { above: { 272000: [60, 270] } }],
      ["gpt-5.4", 2.5, 15, 0.25, undefined, { above: { 272000: [5, 22.5] } }],
      ["gpt-5.4-mini", 0.75, 4.5, 0.075],
      ["gpt-5.4-nano", 0.2, 1.25, 0.02],
      ["gpt-5.3-codex gpt-5.3-chat-latest gpt-5.2 gpt-5.2-codex gpt-5.2-chat-latest", 1.75, 14, 0.175],
      ["gpt-5.2-pro", 21, 168],
      ["gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-chat-latest", 1.25, 10, 0.125],
      ["gpt-5 gpt-5-codex gpt-5-chat-latest gpt-5-search-api", 1.25, 10, 0.125],
      ["gpt-5.1-codex-mini gpt-5-mini", 0.25, 2, 0.025],
      ["gpt-5-nano", 0.05, 0.4, 0.005],
      ["gpt-5-pro", 15, 120],
      ["gpt-4.1", 2, 8, 0.5],
      ["gpt-4.1-mini", 0.4, 1.6, 0.1],
      ["gpt-4.1-nano", 0.1, 0.4, 0.025],
      ["gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20", 2.5, 10, 1.25],
      ["gpt-4o-2024-05-13 chatgpt-4o-latest", 5, 15],
      ["gpt-4o-mini gpt-4o-mini-2024-07-18", 0.15, 0.6, 0.075],
      ["o1 o1-2024-12-17 o1-preview o1-preview-2024-09-12", 15, 60, 7.5],
      ["o1-pro", 150, 600],
      ["o3", 2, 8, 0.5],
      ["o3-pro", 20, 80],
      ["o3-mini", 1.1, 4.4, 0.55],
      ["o4-mini", 1.1, 4.4, 0.275],
      ["o3-deep-research", 10, 40, 2.5],
      ["o4-mini-deep-research", 2, 8, 0.5],
      ["gpt-4o-search-preview", 2.5, 10],
      ["gpt-4o-mini-search-preview", 0.15, 0.6],
      ["computer-use-preview", 3, 12],
      [
        "gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4-turbo-preview gpt-4-1106-preview gpt-4-0125-preview",
        10,
        30,
      ],
      ["gpt-4-vision-preview", 10, 30],
      ["gpt-4 gpt-4-0314 gpt-4-0613", 30, 60],
      ["gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613", 60, 120],
      // No output price: the family rule has the exact 3, 2 and 4/3.
      ["gpt-3.5-turbo gpt-3.5-turbo-0125", 0.5],
      ["gpt-3.5-turbo-1106", 1],
      ["gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct", 1.5],
      ["gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613", 3],
      ["davinci-002", 2, 2],
      ["babbage-002", 0.4, 0.4],
      ["text-embedding-3-small", 0.02, 0],
      ["text-embedding-3-large", 0.13, 0],
      ["text-embedding-ada-002", 0.1, 0],
      ["omni-moderation-latest text-moderation-latest text-moderation-stable", 0],
      // Transcription: the input is audio, so its price is the base.
      ["gpt-4o-transcribe gpt-4o-transcribe-diarize", 6, 10],
      ["gpt-4o-mini-transcribe", 3, 5],
      // Image models report LLM tokens: text and images in, image out.
      [
        "gpt-image-2.6-sunburst gpt-image-2.6-flare gpt-image-2.5-sunburst gpt-image-2.5-flare",
        5,
        30,
        1.25,
        undefined,
        { imageIn: 8 },
      ],
      ["gpt-image-2 gpt-image-2-2026-04-21", 5, 30, 1.25, undefined, { imageIn: 8 }],
      ["gpt-image-1.5 chatgpt-image-latest", 5, 32, 1.25, undefined, { imageIn: 8 }],
      ["gpt-image-1", 5, 40, 1.25, undefined, { imageIn: 10 }],
      ["gpt-image-1-mini", 2, 8, 0.2, undefined, { imageIn: 2.5 }],
      // Text and sound, each with its price.
      ["gpt-audio gpt-audio-1.5", 2.5, 10, undefined, undefined, { audioIn: 32, audioOut: 64 }],
      ["gpt-4o-audio-preview", 2.5, 10, undefined, undefined, { audioIn: 40, audioOut: 80 }],
      ["gpt-audio-mini", 0.6, 2.4, undefined, undefined, { audioIn: 10, audioOut: 20 }],
      [
        "gpt-realtime gpt-realtime-1.5 gpt-realtime-2025-08-28",
        4,
        16,
        0.4,
        undefined,
        { audioIn: 32, audioOut: 64, imageIn: 5 },
      ],
      ["gpt-realtime-2 gpt-realtime-2.1", 4, 24, 0.4, undefined, { audioIn: 32, audioOut: 64, imageIn: 5 }],
      [
        "gpt-realtime-mini gpt-realtime-2.1-mini",
        0.6,
        2.4,
        0.06,
        undefined,
        { audioIn: 10, audioOut: 20, imageIn: 0.8 },
      ],
      ["gpt-4o-realtime-preview", 5, 20, 2.5, undefined, { audioIn: 40, audioOut: 80 }],
      ["gpt-4o-mini-realtime-preview", 0.6, 2.4, 0.3, undefined, { audioIn: 10, audioOut: 20 }],
    ],
  },
  {
    unitPrice: usdPerImage,
    unit: "image",
    rows: [
      ["dall-e-2", 0.016],
      ["dall-e-3", 0.04],
    ],
  },
  {
    unitPrice: usd,
    unit: "character",
    rows: [
      ["tts-1 tts-1-1106", 15],
      ["tts-1-hd tts-1-hd-1106", 30],
      // $0.015 per minute by the vendor's own estimate; a minute is about a thousand characters.
      ["gpt-4o-mini-tts gpt-4o-mini-tts-2025-12-15", 15],
    ],
  },
  {
    unitPrice: asRatio,
    unit: "spoken",
    rows: [
      ["whisper-1", 15, 0],
      // $0.0045 per minute.
      ["gpt-transcribe", 11.25, 0],
    ],
  },
  {
    // Retired before 2024; kept so that tables and logs of an imported database keep their meaning.
    unitPrice: asRatio,
    rows: [
      ["o1-mini o1-mini-2024-09-12", 1.5],
      ["text-ada-001", 0.2],
      ["text-babbage-001", 0.25],
      ["text-curie-001", 1],
      ["text-davinci-002 text-davinci-003 text-davinci-edit-001 code-davinci-edit-001", 10],
      ["davinci curie babbage ada text-search-ada-doc-001", 10],
    ],
  },
];
