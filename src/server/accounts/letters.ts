// The text of every letter: a subject, and paragraphs in HTML. Written in Chinese; `inLanguage` says it in its reader's language. Pure.
import type { Language } from "#contract/language.ts";
import { say } from "#server/locale/sentences.ts";

export interface LetterText {
  readonly subject: string;
  /** Each in HTML. */
  readonly paragraphs: readonly string[];
}

/** A letter as it is sent. */
export function inLanguage(
  { subject, paragraphs }: LetterText,
  language: Language,
): { readonly subject: string; readonly html: string } {
  // What a link says stands within its paragraph.
  const inner = (html: string) =>
    html.replace(/>([^<>]+)</g, (_, text: string) => `>${say(text, language)}<`);
  const lines = paragraphs.flatMap((paragraph) => inner(say(paragraph, language)).split(/\r?\n/));
  const body = lines.map((line) => `<p>${line}</p>`).join("\n");
  const lang = language === "en" ? "en" : "zh-CN";
  const html = `<!doctype html>\n<html lang="${lang}">\n<body>\n${body}\n</body>\n</html>`;
  return { subject: say(subject, language), html };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function linkTo(url: string, text: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}

/** The code that proves an address (requirements W4.2). */
export function codeLetter(system: string, code: string): LetterText {
  return {
    subject: `${system} 邮箱验证码`,
    paragraphs: [
      `您好，您正在 ${escapeHtml(system)} 进行邮箱验证。`,
      `您的验证码为：<strong>${escapeHtml(code)}</strong>`,
      "验证码 10 分钟内有效，只能使用一次。如果不是您本人的操作，请忽略这封邮件。",
    ],
  };
}

/** The link of a password reset (requirements W4.4). */
export function resetLetter(system: string, url: string): LetterText {
  return {
    subject: `${system} 密码重置`,
    paragraphs: [
      `您好，您正在重置 ${escapeHtml(system)} 的登录密码。`,
      `请点击 ${linkTo(url, "这里")} 完成重置；如果无法点击，请把下面的地址复制到浏览器中打开：`,
      linkTo(url, url),
      "链接 10 分钟内有效，只能使用一次。如果不是您本人的操作，请忽略这封邮件。",
    ],
  };
}

/** Tells the owner that the password was reset (requirements Q5). */
export function resetDoneLetter(system: string, username: string): LetterText {
  return {
    subject: `${system} 密码已重置`,
    paragraphs: [
      `您好，您在 ${escapeHtml(system)} 的账户 ${escapeHtml(username)} 的密码刚刚通过邮件被重置，所有已登录的会话都已退出。`,
      "如果不是您本人的操作，请立即联系管理员。",
    ],
  };
}

/** The quota fell below the threshold, or is used up (requirements W10.6). */
export function quotaLetter(
  system: string,
  state: { isEmpty: boolean; remaining: string; topUpUrl: string },
): LetterText {
  const title = state.isEmpty ? "您的额度已用尽" : "您的额度即将用尽";
  return {
    subject: `${system} ${title}`,
    paragraphs: [
      `您好，${title}，当前剩余额度为 ${escapeHtml(state.remaining)}。`,
      `为了不影响您的使用，请及时充值：${linkTo(state.topUpUrl, state.topUpUrl)}`,
    ],
  };
}

/** A notice for the super administrator (requirements W4.8). */
export function noticeLetter(system: string, notice: { title: string; content: string }): LetterText {
  return {
    subject: `${system} ${notice.title}`,
    paragraphs: [escapeHtml(notice.content)],
  };
}

/** Something happened to the account's security (requirements I28, I34, I37). No link acts by itself: programs open links too. */
export function securityLetter(
  system: string,
  event: { username: string; what: string; lines: readonly string[]; url: string },
): LetterText {
  return {
    subject: `${system} 账户安全提醒`,
    paragraphs: [
      `您好，您在 ${escapeHtml(system)} 的账户 ${escapeHtml(event.username)} 刚刚${escapeHtml(event.what)}。`,
      ...event.lines.map(escapeHtml),
      `如果不是您本人的操作，请立即修改密码，并在 ${linkTo(event.url, "登录会话")} 中结束不认识的会话。`,
    ],
  };
}

/** A plan ends soon and nothing follows it (requirements Y66). `endsAt` is Beijing time. */
export function planLetter(
  system: string,
  ending: { plan: string; days: number; endsAt: string; url: string },
): LetterText {
  const { plan, days, endsAt, url } = ending;
  return {
    subject: `${system} 套餐“${plan}”还有 ${days} 天到期`,
    paragraphs: [
      `您好，您的套餐“${escapeHtml(plan)}”将于 ${endsAt}（北京时间）到期，还有 ${days} 天。`,
      `提前续订会从到期时刻接着算，不会损失时间：${linkTo(url, url)}`,
    ],
  };
}

/** The card was refused when a plan was to be renewed (requirements Z21). */
export function renewalLetter(system: string, { plan, url }: { plan: string; url: string }): LetterText {
  return {
    subject: `${system} 套餐“${plan}”自动续费扣款失败`,
    paragraphs: [
      `您好，您的套餐“${escapeHtml(plan)}”本次自动续费没有扣款成功，支付平台会在几天内再试。已付的周期照常用到期。`,
      `请检查银行卡，或在这里取消自动续费、改为手动续订：${linkTo(url, url)}`,
    ],
  };
}

/** An invoice was issued, refused or reversed (requirements Y62). */
export function invoiceLetter(
  system: string,
  invoice: { name: string; amount: string; what: string; lines: readonly string[]; url: string },
): LetterText {
  const { name, amount, what, lines, url } = invoice;
  return {
    subject: `${system} 发票${what}`,
    paragraphs: [
      `您好，您申请的发票 ${escapeHtml(name)}（${escapeHtml(amount)}）${what}。`,
      ...lines.map(escapeHtml),
      `查看发票：${linkTo(url, url)}`,
    ],
  };
}

/** Tells a user of a model that its last day comes (requirements X12). */
export function endingLetter(
  system: string,
  { model, lastDay, url }: { readonly model: string; readonly lastDay: string; readonly url: string },
): LetterText {
  return {
    subject: `${system} 模型 ${model} 将停用`,
    paragraphs: [
      `您好，您最近使用过的模型 ${escapeHtml(model)} 将停用，最后可用的一天是 ${escapeHtml(lastDay)}。`,
      "请提前换用其他模型，以免调用中断。",
      `查看可用的模型：${linkTo(url, url)}`,
    ],
  };
}

/** Four fifths of a budget are spent (requirements L10). `budget` = whose and over which time, `resets` = when it begins anew. */
export function limitLetter(
  system: string,
  warning: { budget: string; spent: string; amount: string; resets: string; isSoft: boolean; url: string },
): LetterText {
  const { budget, spent, amount, resets, isSoft, url } = warning;
  const end = isSoft ? "超出后只提醒，不拒绝调用。" : "用完后新的调用会被拒绝。";
  return {
    subject: `${system} ${budget}已用 80% 以上`,
    paragraphs: [
      `您好，${escapeHtml(budget)}已用 ${escapeHtml(spent)}，限额为 ${escapeHtml(amount)}。${end}`,
      escapeHtml(resets),
      `查看限额：${linkTo(url, url)}`,
    ],
  };
}
