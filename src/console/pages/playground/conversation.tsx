// The turns of a conversation, each answer with what it used and cost.
import { LoadingOutlined, MessageOutlined } from "@ant-design/icons";
import { Fragment, useEffect, useRef } from "react";
import { formatCharge, formatCount, formatMs } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyButton } from "#console/ui/copy-button.tsx";
import type { Turn } from "./use-chat.ts";

function Facts({ turn }: { readonly turn: Turn }) {
  const display = useQuotaDisplay();
  const { entry, usage } = turn;
  const prompt = entry?.prompt_tokens ?? usage?.prompt;
  const completion = entry?.completion_tokens ?? usage?.completion;
  const facts = [
    turn.model,
    turn.state === "stopped" ? "已停止" : "",
    prompt === undefined ? "" : `提示 ${formatCount(prompt)}`,
    completion === undefined ? "" : `补全 ${formatCount(completion)}`,
    entry === undefined || entry.first_byte_time === 0 ? "" : `首字 ${formatMs(entry.first_byte_time)}`,
    entry === undefined ? "" : `用时 ${formatMs(entry.elapsed_time)}`,
    entry === undefined ? "" : `花费 ${formatCharge(entry.quota, display)}`,
  ];
  const shown = facts.filter((fact) => fact !== "");
  return (
    <span className="tg-play-facts">
      {shown.map((fact, at) => (
        // A fact stays in one piece, and no line begins with a dot.
        <Fragment key={fact}>
          <span>{at < shown.length - 1 ? `${fact} ·` : fact}</span>{" "}
        </Fragment>
      ))}
    </span>
  );
}

function Answer({ turn }: { readonly turn: Turn }) {
  return (
    <article className="tg-play-turn tg-play-answer" aria-label={`${turn.model} 的回答`}>
      {turn.thought === "" ? null : (
        <details className="tg-play-thought">
          <summary>思考过程</summary>
          <p>{turn.thought}</p>
        </details>
      )}
      {turn.text === "" && turn.state === "coming" ? (
        <LoadingOutlined aria-label="等待回答" />
      ) : (
        <p>{turn.text}</p>
      )}
      {turn.fault === undefined ? null : <Callout tone="bad">{turn.fault}</Callout>}
      {turn.state === "coming" ? null : (
        <footer>
          <Facts turn={turn} />
          {turn.text === "" ? null : <CopyButton text={turn.text} label="复制回答" />}
        </footer>
      )}
    </article>
  );
}

/** How near the end counts as reading along. */
const NEAR_PX = 120;

/** Keeps the end in view while an answer comes in, unless the reader scrolled up. */
function useFollow(turns: readonly Turn[]) {
  const box = useRef<HTMLElement>(null);
  const count = turns.length;
  const last = turns.at(-1);
  /** Changes with everything that makes the last answer longer. */
  const growth = `${last?.text.length} ${last?.state} ${last?.entry?.id}`;
  const lastCount = useRef(0);
  useEffect(() => {
    const place = box.current;
    if (place === null || growth === "") return;
    const isNear = place.scrollHeight - place.scrollTop - place.clientHeight < NEAR_PX;
    if (isNear || count !== lastCount.current) place.scrollTop = place.scrollHeight;
    lastCount.current = count;
  }, [count, growth]);
  return box;
}

export function Conversation({ turns }: { readonly turns: readonly Turn[] }) {
  const box = useFollow(turns);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
    <section ref={box} className="tg-play-turns" aria-label="对话" tabIndex={0}>
      {turns.length === 0 ? (
        <div className="tg-play-empty">
          <MessageOutlined aria-hidden="true" />
          <p>选好令牌与模型，在下面输入一句话开始。每条回答都会显示用量与花费。</p>
        </div>
      ) : null}
      {turns.map((turn) =>
        turn.role === "user" ? (
          <article key={turn.id} className="tg-play-turn tg-play-question" aria-label="我">
            <p>{turn.text}</p>
          </article>
        ) : (
          <Answer key={turn.id} turn={turn} />
        ),
      )}
    </section>
  );
}
