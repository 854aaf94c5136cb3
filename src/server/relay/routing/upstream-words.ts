// What an upstream said when it refused a call, as administrators read it in the usage log: without credentials and addresses, and without
// words of the request, which a log never holds (requirements P01). Pure.
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** Errors with these statuses are about the request, and its client reads them in full. */
const ABOUT_THE_REQUEST = new Set([400, 413, 415, 422]);
/** Each word is looked for in the whole request. Unit: bytes. */
const MOST_SEARCHED = 512 * 1024;
const HIDDEN = "…";

/** Words common in errors; alone they reveal nothing of a request that has them too. */
const COMMON = new Set(
  `access account active again all allowed and any api are authentication authorized available bad balance been before billing busy but
  call can cannot capacity channel check code completions contact context content could country credit credits current currently daily
  deactivated denied details disabled does email enabled enough error exceed exceeded exhausted exist exists expired failed for forbidden
  found free from gateway has have header high host hour id insufficient internal invalid ip is it key later limit limited limits location
  low malformed max maximum message messages method minute missing model models month monthly more must name need new no not number of
  on operation or organization out over overloaded page paid payment per permission permissions plan please policy process project
  provided quota rate reached receive region request requested requests required resource response retry seconds server service session
  signature status stop stream support supported suspended system temporarily temporary the this tier time timeout to token tokens too
  try type unable unauthorized unavailable unexpected unsupported upgrade upstream usage use user valid verify version was wait was with
  you your`.split(/\s+/),
);
const COMMON_HAN =
  /^(不|了|已|未|请|无|被|过|超|限|的|您|账户|账号|余额|不足|欠费|密钥|令牌|无效|有效|过期|模型|不存在|请求|过多|过于|频繁|频率|限制|并发|超限|超出|服务|服务器|繁忙|稍后|重试|再试|充值|权限|没有|开通|认证|鉴权|失败|错误|内部|超时|调用|次数|用户|接口|系统|负载|网络|参数|资源|额度|停用|禁用|分组|渠道|上游)+$/;

const HAN = /^\p{Script=Han}+$/u;
const WORDS = /\p{Script=Han}{2,}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}]){3,}/gu;

/** A client's request. */
interface Asked {
  readonly model: string;
  /** Its whole body. */
  readonly bytes: Buffer;
}

/** What an upstream said stands behind its status. */
const SAID = /^\d+: (.*)$/s;

/** The words of a fault, at most 300 characters; "" = it has none, or none that may be kept. */
export function upstreamWords(
  { upstreamStatus, words }: Pick<RelayFault, "upstreamStatus" | "words">,
  { model, bytes }: Asked,
): string {
  if (ABOUT_THE_REQUEST.has(upstreamStatus) || bytes.length > MOST_SEARCHED) return "";
  const found = SAID.exec(words)?.[1];
  // Our own words, as of a proxy, hold nothing of the request.
  if (found === undefined) return words;
  const said = found.replace(/\s+/g, " ");
  if (said.startsWith("bad response status code")) return "";
  return withoutWords(said, (word) => !model.includes(word) && isIn(bytes, word));
}

/** A text in which words of the request are replaced by a dot. */
function withoutWords(said: string, isAsked: (word: string) => boolean): string {
  return said.replace(WORDS, (word) => {
    if (HAN.test(word)) return withoutHan(word, isAsked);
    const isKept = COMMON.has(word.toLowerCase()) || !(isAsked(word) || isAsked(word.toLowerCase()));
    return isKept ? word : HIDDEN;
  });
}

/** Chinese has no spaces: from each character on, the longest part that the request has is hidden. */
function withoutHan(run: string, isAsked: (part: string) => boolean): string {
  const characters = [...run];
  let told = "";
  for (let from = 0; from < characters.length; ) {
    let to = from + 1;
    while (to < characters.length && isAsked(characters.slice(from, to + 1).join(""))) to += 1;
    const part = characters.slice(from, to).join("");
    told += to - from > 1 && !COMMON_HAN.test(part) ? HIDDEN : part;
    from = to;
  }
  return told;
}

/** Whether a request has a word, as it is or in JSON's escapes. */
function isIn(bytes: Buffer, word: string): boolean {
  if (bytes.includes(word)) return true;
  const escaped = word.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return escaped !== word && bytes.includes(escaped);
}
