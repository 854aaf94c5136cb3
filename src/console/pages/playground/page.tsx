// The playground: the user talks to any of their models through their own token, exactly as a client would.
import { DeleteOutlined, SendOutlined, SettingOutlined, StopOutlined } from "@ant-design/icons";
import { Button, Drawer, Input, Skeleton } from "antd";
import { type KeyboardEvent, useState } from "react";
import { COMPACT, NARROW, useMedia } from "#console/base/media.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import type { Token } from "#contract/token.ts";
import { Conversation } from "./conversation.tsx";
import { EMPTY_SETUP, SetupPanel, type SetupValues, useModels, useUsableTokens } from "./setup-panel.tsx";
import { type Chat, type Setup, useChat } from "./use-chat.ts";
import "./playground.css";

interface ComposerProps {
  readonly chat: Chat;
  /** undefined = something is still to be chosen. */
  readonly setup: Setup | undefined;
}

function Composer({ chat, setup }: ComposerProps) {
  const [text, setText] = useState("");
  const isNarrow = useMedia(NARROW);
  const canSend = setup !== undefined && text.trim() !== "" && !chat.isComing;
  const send = () => {
    if (setup === undefined || !canSend) return;
    chat.send(text.trim(), setup);
    setText("");
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <div className="tg-play-composer">
      <Input.TextArea
        value={text}
        autoFocus
        variant="borderless"
        autoSize={{ minRows: 1, maxRows: 8 }}
        placeholder={isNarrow ? "输入消息" : "输入消息，Enter 发送，Shift + Enter 换行"}
        aria-label="消息"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      {chat.isComing ? (
        <Button danger icon={<StopOutlined aria-hidden="true" />} onClick={chat.stop}>
          停止
        </Button>
      ) : (
        <Button type="primary" icon={<SendOutlined aria-hidden="true" />} disabled={!canSend} onClick={send}>
          发送
        </Button>
      )}
    </div>
  );
}

function NoToken() {
  return (
    <div className="tg-card tg-blank">
      <p>还没有可用的令牌。操练场用你自己的令牌调用模型，先创建一个吧。</p>
      <LinkButton to="/token/add" kind="primary">
        添加新的令牌
      </LinkButton>
    </div>
  );
}

/** The values with the first token and model in place of what was not chosen, or is not there any more. */
function completed(values: SetupValues, token: Token | undefined, models: readonly string[]): SetupValues {
  const isKnown = values.model !== undefined && models.includes(values.model);
  return { ...values, tokenId: token?.id, model: isKnown ? values.model : models[0] };
}

function setupOf({ model, system, temperature, maxTokens }: SetupValues, token: Token): Setup | undefined {
  if (model === undefined) return undefined;
  return { key: `sk-${token.key}`, model, system, temperature, maxTokens };
}

function Playground({ tokens, first }: { readonly tokens: readonly Token[]; readonly first: Token }) {
  const isCompact = useMedia(COMPACT);
  const [chosen, setChosen] = useState(EMPTY_SETUP);
  const [isOpen, setOpen] = useState(false);
  const chat = useChat();
  const token = tokens.find(({ id }) => id === chosen.tokenId) ?? first;
  const models = useModels(token);
  const values = completed(chosen, token, models);
  const panel = <SetupPanel values={values} tokens={tokens} models={models} onChange={setChosen} />;
  return (
    <div className="tg-play">
      <div className="tg-card tg-play-main">
        <header>
          <strong className="tg-clip">{values.model ?? "没有可用的模型"}</strong>
          <span className="tg-play-tools">
            {isCompact ? (
              <Button type="text" icon={<SettingOutlined aria-hidden="true" />} onClick={() => setOpen(true)}>
                参数
              </Button>
            ) : null}
            <Button
              type="text"
              icon={<DeleteOutlined aria-hidden="true" />}
              disabled={chat.turns.length === 0}
              onClick={chat.clear}
            >
              清空对话
            </Button>
          </span>
        </header>
        <Conversation turns={chat.turns} />
        <Composer chat={chat} setup={setupOf(values, token)} />
      </div>
      {isCompact ? (
        <Drawer open={isOpen} title="参数" placement="right" size={320} onClose={() => setOpen(false)}>
          <div className="tg-play-setup">{panel}</div>
        </Drawer>
      ) : (
        <aside className="tg-card tg-play-setup" aria-label="参数">
          {panel}
        </aside>
      )}
    </div>
  );
}

export function PlaygroundPage() {
  const { tokens, error, retry } = useUsableTokens();
  const first = tokens?.[0];
  return (
    <Page title="操练场">
      {tokens === undefined ? (
        <div className="tg-card tg-section">
          {error === null ? <Skeleton active /> : <ErrorState error={error} onRetry={retry} />}
        </div>
      ) : null}
      {tokens !== undefined && first === undefined ? <NoToken /> : null}
      {tokens !== undefined && first !== undefined ? <Playground tokens={tokens} first={first} /> : null}
    </Page>
  );
}
