// What models cost at One API while its operator had set nothing: the ratios built into release 0.6.11, but for the names of
// OpenRouter and Replicate (`vendor/model`). Data only, for the report; nothing is charged by it.

/** Channel types that sell a model at another price stand behind its name. */
const ROWS: readonly (readonly [ratio: number, names: string])[] = [
  [0, "cogview-3-flash cogviewx-flash glm-4-flash glm-4v-flash"],
  [
    0.000025,
    `llama-3.1-8b-instant llama-3.2-11b-text-preview llama-3.2-11b-vision-preview
     llama-3.2-1b-preview llama-3.2-3b-preview llama-guard-3-8b llama3-8b-8192`,
  ],
  [0.000035, "gemma-7b-it"],
  [0.0000714286, "step-1-flash"],
  [0.000095, "llama3-groq-8b-8192-tool-use-preview"],
  [0.0001, "gemma2-9b-it"],
  [0.00012, "mixtral-8x7b-32768"],
  [0.000295, "llama-3.1-70b-versatile llama-3.2-90b-text-preview llama3-70b-8192"],
  [0.000357143, "step-1-8k step-1v-8k"],
  [0.000445, "llama3-groq-70b-8192-tool-use-preview"],
  [0.00107143, "step-1-32k step-1v-32k"],
  [0.00271429, "step-2-16k"],
  [0.00285714, "step-1-128k"],
  [0.00678571, "step-1-256k"],
  [0.00714286, "codegeex-4 glm-4-flashx"],
  [0.01, "text-embedding-3-small"],
  [0.01875, "gemini-1.5-flash-8b"],
  [0.0214286, "qwen-turbo qwen-turbo-latest qwen2.5-0.5b-instruct qwen2.5-1.5b-instruct"],
  [
    0.0357143,
    `deepseek-r1-distill-llama-8b deepseek-r1-distill-qwen-7b embedding-2 embedding-3 glm-4-air
     hunyuan-standard-256K qwen-max-longcontext qwen2.5-7b-instruct`,
  ],
  [
    0.0375,
    `gemini-1.5-flash gemini-1.5-flash-001 gemini-2.0-flash-exp gemini-2.0-flash-lite-preview-02-05
     gemini-2.0-flash-thinking-exp-01-21`,
  ],
  [
    0.05,
    `hunyuan-embedding mistral-embed text-embedding-ada-002 text-embedding-async-v1
     text-embedding-async-v2 text-embedding-v1 text-embedding-v2 text-embedding-v3`,
  ],
  [0.0571429, "hunyuan-standard qwen-plus qwen-plus-latest"],
  [0.0625, "gemini-1.0-pro"],
  [0.065, "text-embedding-3-large"],
  [0.07, "deepseek-chat"],
  [
    0.0714286,
    `ERNIE-Tiny-8K charglm-4 deepseek-r1-distill-qwen-1.5b deepseek-r1-distill-qwen-14b deepseek-v3
     glm-3-turbo glm-4-long qwen-mt-turbo qwen1.5-0.5b-chat qwen1.5-1.8b-chat qwen1.5-7b-chat
     qwen2-0.5b-instruct qwen2-1.5b-instruct qwen2-7b-instruct qwen2-math-1.5b-instruct
     qwen2-math-7b-instruct qwen2.5-14b-instruct qwen2.5-coder-0.5b-instruct
     qwen2.5-coder-1.5b-instruct qwen2.5-coder-3b-instruct qwen2.5-coder-7b-instruct
     qwen2.5-math-1.5b-instruct qwen2.5-math-7b-instruct`,
  ],
  [0.0715, "embedding-bert-512-v1 embedding_s1_v1 semantic_similarity_s1_v1"],
  [0.075, "gemini-2.0-flash gemini-2.0-flash-001 gpt-4o-mini gpt-4o-mini-2024-07-18"],
  [0.0857143, "qwen2.5-vl-3b-instruct"],
  [0.1, "text-moderation-latest text-moderation-stable"],
  [0.107143, "qwen-vl-plus qwen-vl-plus-latest"],
  [0.125, "claude-3-haiku-20240307 gemini-pro open-mistral-7b"],
  [
    0.142857,
    `Embedding-V1 bge-large-en bge-large-zh deepseek-r1 deepseek-r1-distill-qwen-32b qwen-audio-chat
     qwen-coder-turbo qwen-coder-turbo-latest qwen-math-turbo qwen-math-turbo-latest qwen-vl-chat-v1
     qwen-vl-v1 qwen1.5-14b-chat qwen2-audio-instruct qwen2-vl-2b-instruct qwen2.5-coder-14b-instruct
     qwen2.5-coder-32b-instruct qwen2.5-vl-7b-instruct qwq-32b-preview tao-8k`,
  ],
  [0.15, "llama3-8b-8192(33)"],
  [0.171429, "qwen-max qwen-max-latest"],
  [0.178571, "yi-34b-chat-0205"],
  [0.2, "babbage-002 text-ada-001"],
  [0.214286, "ERNIE-Lite-8K-0308 qwen-vl-max qwen-vl-max-latest"],
  [
    0.25,
    `command-r gpt-3.5-turbo gpt-3.5-turbo-0125 qwen-coder-plus qwen-coder-plus-latest
     qwen1.5-32b-chat qwen2-57b-a14b-instruct text-babbage-001`,
  ],
  [0.275, "deepseek-reasoner"],
  [
    0.285714,
    `BLOOMZ-7B ERNIE-Speed-128K ERNIE-Speed-8K deepseek-r1-distill-llama-70b glm-4v-plus hunyuan-code
     hunyuan-functioncall hunyuan-large hunyuan-role qwen-math-plus qwen-math-plus-latest
     qwen2-72b-instruct qwen2-math-72b-instruct qwen2.5-72b-instruct qwen2.5-math-72b-instruct`,
  ],
  [0.35, "open-mixtral-8x7b"],
  [0.357143, "abab5.5s-chat hunyuan-translation-lite qwen-vl-ocr qwen-vl-ocr-latest qwen1.5-72b-chat"],
  [0.4, "claude-instant-1.2"],
  [
    0.428571,
    `hunyuan-large-longcontext qwen-1.8b-chat qwen-1.8b-longcontext-chat qwen-7b-chat
     qwen2.5-3b-instruct yi-vl-plus`,
  ],
  [
    0.5,
    `claude-3-5-haiku-20241022 claude-3-5-haiku-latest command command-light command-light-nightly
     command-nightly gpt-3.5-turbo-1106 qwen1.5-110b-chat`,
  ],
  [0.571429, "Baichuan2-Turbo ERNIE-Lite-8K-0922 qwen-14b-chat"],
  [0.625, "gemini-1.5-pro gemini-1.5-pro-001 gemini-1.5-pro-experimental gemini-2.0-pro-exp-02-05"],
  [0.714286, "abab6.5s-chat glm-4-airx glm-zero-preview"],
  [0.75, "gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct"],
  [
    0.857143,
    "ERNIE-3.5-4K-0205 ERNIE-3.5-8K ERNIE-3.5-8K-1222 moonshot-v1-8k qvq-72b-preview yi-34b-chat-200k",
  ],
  [0.8572, "360GPT_S2_V9"],
  [1, "aqa davinci-002 mistral-small-latest text-curie-001"],
  [1.07143, "abab5.5-chat emohaa hunyuan-turbo qwen-mt-plus"],
  [1.14286, "Baichuan2-Turbo-192k qwen2-vl-7b-instruct qwen2.5-vl-72b-instruct"],
  [1.25, "gpt-4o-2024-08-06 gpt-4o-2024-11-20"],
  [1.28571, "hunyuan-vision"],
  [
    1.2858,
    `SparkDesk SparkDesk-v1.1 SparkDesk-v2.1 SparkDesk-v3.1 SparkDesk-v3.1-128K SparkDesk-v3.5
     SparkDesk-v3.5-32K SparkDesk-v4.0`,
  ],
  [1.325, "llama3-70b-8192(33)"],
  [1.35, "mistral-medium-latest"],
  [1.42857, "Baichuan2-53B qwen-72b-chat"],
  [1.4286, "qwen-audio-turbo"],
  [
    1.5,
    `black-forest-labs/flux-redux-schnell black-forest-labs/flux-schnell claude-3-5-sonnet-20240620
     claude-3-5-sonnet-20241022 claude-3-5-sonnet-latest claude-3-sonnet-20240229 command-r-plus
     gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613 o1-mini o1-mini-2024-09-12 o3-mini o3-mini-2025-01-31`,
  ],
  [1.71429, "ERNIE-3.5-8K-0205 ERNIE-Bot-8K moonshot-v1-32k"],
  [2.14286, "abab6.5-chat qwen2.5-32b-instruct"],
  [2.5, "chatgpt-4o-latest gpt-4o gpt-4o-2024-05-13 grok-beta"],
  [3.57143, "glm-4-plus glm-4v"],
  [4, "claude-2.0 claude-2.1 mistral-large-latest"],
  [4.28571, "cogview-3-plus moonshot-v1-128k"],
  [
    5,
    `gpt-4-0125-preview gpt-4-1106-preview gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4-turbo-preview
     gpt-4-vision-preview`,
  ],
  [5.71429, "hunyuan-turbo-vision"],
  [7.14286, "abab6-chat cogview-3 glm-4 glm-4-0520"],
  [7.5, "claude-3-opus-20240229 o1 o1-2024-12-17 o1-preview o1-preview-2024-09-12 tts-1 tts-1-1106"],
  [8, "ali-stable-diffusion-v1.5 ali-stable-diffusion-xl wanx-v1"],
  [8.57143, "ERNIE-4.0-8K"],
  [
    10,
    `ada babbage black-forest-labs/flux-schnell-lora code-davinci-edit-001 curie dall-e-2 davinci
     text-davinci-002 text-davinci-003 text-davinci-edit-001 text-search-ada-doc-001`,
  ],
  [
    12.5,
    `black-forest-labs/flux-canny-dev black-forest-labs/flux-depth-dev black-forest-labs/flux-dev
     black-forest-labs/flux-redux-dev deepl-en deepl-ja deepl-zh`,
  ],
  [15, "gpt-4 gpt-4-0314 gpt-4-0613 ibm-granite/granite-3.0-2b-instruct tts-1-hd tts-1-hd-1106 whisper-1"],
  [16, "black-forest-labs/flux-dev-lora"],
  [17.5, "stability-ai/stable-diffusion-3 stability-ai/stable-diffusion-3.5-medium"],
  [
    20,
    `black-forest-labs/flux-1.1-pro black-forest-labs/flux-fill-dev dall-e-3 recraft-ai/recraft-v3
     stability-ai/stable-diffusion-3.5-large-turbo`,
  ],
  [
    25,
    `black-forest-labs/flux-canny-pro black-forest-labs/flux-depth-pro
     black-forest-labs/flux-fill-pro ibm-granite/granite-3.0-8b-instruct
     ibm-granite/granite-8b-code-instruct-128k ideogram-ai/ideogram-v2-turbo meta/llama-2-7b
     meta/llama-2-7b-chat meta/meta-llama-3-8b meta/meta-llama-3-8b-instruct
     mistralai/mistral-7b-instruct-v0.2 mistralai/mistral-7b-v0.1`,
  ],
  [27.5, "black-forest-labs/flux-pro"],
  [30, "black-forest-labs/flux-1.1-pro-ultra gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613"],
  [32.5, "stability-ai/stable-diffusion-3.5-large"],
  [35.7143, "cogviewx"],
  [40, "ideogram-ai/ideogram-v2 recraft-ai/recraft-v3-svg"],
  [50, "ibm-granite/granite-20b-code-instruct-8k meta/llama-2-13b meta/llama-2-13b-chat"],
  [150, "mistralai/mixtral-8x7b-instruct-v0.1"],
  [325, "meta/llama-2-70b meta/llama-2-70b-chat meta/meta-llama-3-70b meta/meta-llama-3-70b-instruct"],
  [4750, "meta/meta-llama-3.1-405b-instruct"],
];

export const oneApiModelRatio: ReadonlyMap<string, number> = new Map(
  ROWS.flatMap(([ratio, names]) => names.split(/\s+/).map((name) => [name, ratio] as const)),
);

export const oneApiCompletionRatio: ReadonlyMap<string, number> = new Map([
  ["llama3-8b-8192(33)", 2],
  ["llama3-70b-8192(33)", 0.0035 / 0.00265],
  ["whisper-1", 0],
  ["deepseek-chat", 2],
  ["deepseek-reasoner", 2.19 / 0.55],
]);

/** Pattern → completion ratio of what no table names; the first that fits counts, and else 1. */
export const oneApiCompletionRules: readonly (readonly [pattern: RegExp, ratio: number])[] = [
  [/^gpt-3\.5-turbo$|^gpt-3\.5.*0125$/, 3],
  [/^gpt-3\.5.*1106$/, 2],
  [/^gpt-3\.5/, 4 / 3],
  [/^gpt-4o-2024-05-13$/, 3],
  [/^gpt-4o/, 4],
  [/^gpt-4-turbo|^gpt-4.*preview$/, 3],
  [/^gpt-4/, 2],
  [/^o1/, 4],
  [/^chatgpt-4o-latest$/, 3],
  [/^claude-3/, 5],
  [/^(claude|mistral|gemini)-/, 3],
  [/^deepseek-/, 2],
  [/^llama2-70b-4096$/, 1.25],
  [/^llama3-8b-8192$/, 2],
  [/^llama3-70b-8192$/, 79 / 59],
  [/^command(-light)?(-nightly)?$/, 2],
  [/^command-r$/, 3],
  [/^command-r-plus$/, 5],
  [/^grok-beta$/, 3],
  [/^ibm-granite\/granite-3\.0-2b-instruct$/, 25 / 3],
  [/^ibm-granite\/granite-/, 5],
  [/^meta\/(llama-2-(7|13)b(-chat)?|meta-llama-3-8b(-instruct)?)$/, 5],
  [/^meta\/(llama-2-70b(-chat)?|meta-llama-3-70b(-instruct)?)$/, 2.75 / 0.65],
  [/^mistralai\/mistral-7b-/, 5],
  [/^mistralai\/mixtral-8x7b-instruct-v0\.1$/, 10 / 3],
];

/**
 * The same of New API (0.6, spring of 2025), where one that is fixed stands above what its operator set, but for names of the form
 * `vendor/model`.
 */
export const newApiCompletionRules: readonly (readonly [pattern: RegExp, ratio: number, isFixed: boolean])[] =
  [
    [/(-all|-gizmo-\*)$/, 2, false],
    [/^gpt-4o-2024-05-13$/, 3, true],
    [/^gpt-4o/, 4, true],
    [/^gpt-4\.5-preview/, 2, true],
    [/^gpt-4-turbo|gpt-4-110[56]$/, 3, true],
    [/^gpt-4/, 2, false],
    [/^o[13]/, 4, true],
    [/^chatgpt-4o-latest$/, 3, true],
    [/claude-(instant-1|2)/, 3, true],
    [/claude-3/, 5, true],
    [/^gpt-3\.5-turbo$|^gpt-3\.5.*0125$/, 3, true],
    [/^gpt-3\.5.*1106$/, 2, true],
    [/^gpt-3\.5/, 4 / 3, true],
    [/^mistral-/, 3, true],
    [/^gemini-/, 4, true],
    [/^command-r$/, 3, true],
    [/^command-r-plus$/, 5, true],
    [/^command/, 4, true],
    [/^deepseek-(chat|reasoner)$/i, 4, true],
    [/^ERNIE-(Speed-|Lite-|Character|Functions)/, 2, true],
    [/^llama2-70b-4096$/, 1.25, true],
    [/^llama3-8b-8192$/, 2, true],
    [/^llama3-70b-8192$/, 79 / 59, true],
  ];
